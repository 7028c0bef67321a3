"""peer_rotation.py - what the timed calls of a peer work on, as harness/worker/rotation.c has it for our own variants: inputs made anew for each
sample by a key that the parent gives just before it, and samples whose outputs the parent compares. A library allocates its outputs itself, so they
cannot be poisoned; other inputs are what shows a result of the call before."""

import ctypes
import gc
import os
import random
import sys
import threading
import time
from time import perf_counter

import peer_protocol as wire
from peer_forms import address_of, interface_of
from peer_protocol import Failure
from peer_timing import Flag, Size, structure

Number = ctypes.c_int
VariedInput = structure(  # as in measure/measure.h
    "VariedInput",
    how=Number,
    input=Number,
    dtype=Number,
    key=ctypes.c_uint64,
    n=Size,
    offsets=ctypes.c_void_p,
    rows=Size,
    wide=Flag,
)
DTYPES = "float32 float64 int32 int64 uint8 float16 bfloat16 float8_e4m3fn float8_e5m2".split()  # as in base/array.h
MIX, SHUFFLE = 1, 7  # VaryHow in base/vary.h: those that are made of both sets
REWRITTEN_BYTES = 16 << 20  # a sample is one call where there are more
REWRITTEN_BYTES_GPU = 64 << 20
SHARE_OF_FREE = 4  # memory of the GPU: the sets take no more than this share
SLOW_CALL_SECONDS = 0.05  # of a call that warms the caches
LEAST_SECONDS, LEAST_SECONDS_GPU = 1e-4, 1e-3  # of CPU time between calls, for it to be work
SPIN_SAMPLES, SPIN_SECONDS = 3, 0.03  # of a pool that spins before it sleeps: so few samples, or so little
OTHER_DATA = (1 << 64) - 1  # of a key
MAY_SPIN = os.environ.get("OMP_WAIT_POLICY", "").lower() == "active"


def python_threads():
    """CPU seconds of the other threads that run Python code. Those of libraries, which spin and tidy up between calls, do not."""
    own = threading.get_ident()
    return {
        thread: time.clock_gettime(time.pthread_getcpuclockid(thread))
        for thread in sys._current_frames()
        if thread != own
    }


def declare(c):
    """How librungs_measure.so is called here."""
    c.measure_watch.restype, c.measure_worked.restype = None, ctypes.c_double
    for function in (c.measure_vary, c.measure_rewritten):
        function.restype = None
        function.argtypes = [ctypes.POINTER(VariedInput), *[ctypes.c_void_p] * 3]
    c.measure_varied.argtypes, c.measure_varied.restype = [ctypes.POINTER(VariedInput)], ctypes.c_void_p


class Rotation:
    def __init__(self, sets, vary, engine, load, call, ask, offer, exchange, own):
        """sets: two dictionaries of read-only arrays, from which timed calls get theirs. vary: of the command `time`. engine: peer_timing.Engine.
        own: peer_own.Own. load(inputs, is_there): has the library these? call() with its wait; ask(key, mode, sample, of) -> the parent's answer;
        offer(mode, sample, of, kept) puts the outputs before the parent if it wants them. exchange: peer_forms.Exchange."""
        self.sets, self.vary, self.load, self.call, self.ask, self.offer = sets, vary, load, call, ask, offer
        self.exchange, self.engine, self.own = exchange, engine, own
        self.vary_input, self.rewrite_input = engine.c.measure_vary, engine.c.measure_rewritten
        self.on_gpu, self.collect, self.release = engine.library.on_gpu, gc.collect, exchange.release
        self.watch, self.worked, self.how_varied = (
            engine.c.measure_watch,
            engine.c.measure_worked,
            engine.c.measure_varied,
        )
        self.arrays = {
            name: array.copy() if how and array.size else array  # pages where this thread runs, as a library's own are
            for how, (name, array) in zip(vary, sets[0].items(), strict=True)
        }
        self.timed, self.resting, self.kept = None, {}, [None]  # kept: what a call gave that the parent timed
        self.in_calls, self.in_between, self.worked_in = 0, 0, 0  # of a mode so far: seconds, seconds, samples
        self.mode = None  # what the samples count for, if it is not the engine's own name
        self.key, self.held, self.there, self.begin, self.slow, self.rewrites = 0, [], {}, 0, False, False
        own.keep(self)
        gc.collect()
        gc.freeze()
        self.use(random.getrandbits(63))
        if self.on_gpu and exchange.form.holds:
            self.go_there()
        begin = perf_counter()
        call()
        self.slow = perf_counter() - begin > SLOW_CALL_SECONDS
        self.rewrites = self.shows_rewriting()

    def varied(self, key):
        """(name, array, how it is made, where its sets are) of the inputs that vary."""
        for index, (how, (name, array)) in enumerate(zip(self.vary, self.arrays.items(), strict=True)):
            if how and array.size:
                made = VariedInput(
                    how, index, DTYPES.index(array.dtype.name), key, array.size, *self.column(how, index)
                )
                yield name, array, made, [address_of(self.sets[k][name]) for k in (0, -1)]

    def column(self, how, index):
        """Offsets, rows and width of the column of strings that an input belongs to."""
        offsets = self.engine.c.vary_offsets(how, index)
        if offsets < 0:
            return None, 0, False
        array = list(self.sets[0].values())[offsets]
        return address_of(array), array.size - 1, array.itemsize == 8

    def use(self, key, deep=False):
        """The library gets the inputs of a key, read-only as in every run. Before they are made all is released that the calls before left: what it
        runs at its end finds none of them, and what it replaces is seen."""
        self.key = key
        self.release()
        self.collect()
        self.own.expect_kept(deep)
        places = {name: self.exchange.place(name, True)[0] for name in self.there}
        if None in places.values():  # a call has put an input elsewhere
            self.there = {}
        if self.there:
            self.make_there(places)
        else:
            self.make_here()
        self.load(dict(self.arrays), is_there=bool(self.there))

    def make_here(self):
        """NumPy's arrays of the key."""
        for _, array, made, sets in self.varied(self.key):
            array.flags.writeable = True
            self.vary_input(made, *sets, address_of(array))
            array.flags.writeable = False

    def make_there(self, places):
        """The library's own, at these places on the GPU, where nothing of the peer's may run until all are made; NumPy's stay those of an older
        key."""
        stream = self.engine.stream()
        for name, array, made, _ in self.varied(self.key):
            addresses = [ctypes.c_void_p(address) for address in (*self.there[name][0], places[name], stream)]
            how, count = ctypes.c_void_p(self.how_varied(made)), ctypes.c_size_t(array.size)
            self.engine.expect_ok(self.engine.c.vary_gpu(how, made.dtype, count, *addresses))

    def go_there(self):
        """From now on inputs are made on the GPU, if that gives what the host makes."""
        self.there, self.key = self.sets_there(), random.getrandbits(63)
        if not self.there:
            return self.use(self.key)
        self.make_here()
        self.make_there({name: self.exchange.place(name, True)[0] for name in self.there})
        self.engine.library.wait()
        if not all(self.exchange.memory.same_bits(self.arrays[name], self.exchange.copy(name)) for name in self.there):
            self.there = {}
            self.use(self.key)

    def sets_there(self):
        """By name where the sets of an input are on the GPU, and what holds them there; nothing without room, or where an input cannot be written."""
        found, form, varied = {}, self.exchange.form, list(self.varied(self.key))
        wanted = sum(len(self.sets) * array.nbytes for _, array, _, _ in varied)
        if wanted * SHARE_OF_FREE > self.engine.library.free_bytes():
            return {}
        for name, _, made, _ in varied:
            held = [form.give(self.sets[k][name], None) for k in (0, -1)[: 1 + (made.how in (MIX, SHUFFLE))]]
            interfaces = [interface_of(form.memory(one), True) for one in held]
            if self.exchange.place(name, True)[0] is None or None in interfaces:
                return {}
            places = [interface["data"][0] for interface in interfaces]
            found[name] = ((*places, places[0])[:2], held)
        return found

    def aim_rewriting(self):
        """The calls of a sample find the library's own inputs rewritten, where a library keeps them as NumPy does."""
        self.held = []  # while it is written to
        self.rewrite_input(None, None, None, None)
        for name, _, made, sets in self.varied(self.key):
            address, memory = self.exchange.place(name, self.on_gpu)
            if address is None:
                return False
            self.held.append(memory)
            self.rewrite_input(made, *sets, address)
        return True

    def shows_rewriting(self):
        """Does what is written where a library's inputs seem to be show in all of them?"""
        most = REWRITTEN_BYTES_GPU if self.on_gpu else REWRITTEN_BYTES
        if sum(array.nbytes for array in self.arrays.values()) > most or not self.aim_rewriting():
            return False
        first, seen = self.copies(), set()
        for state in range(8, 0, -1):
            self.engine.rewrite(state)
            seen |= {name for name, array in self.copies().items() if array != first[name]}
        self.engine.rewrite(0)
        return seen == set(first) and self.copies() == first

    def copies(self):
        self.engine.library.wait()
        return {name: self.exchange.copy(name).tobytes() for name, *_ in self.varied(self.key)}

    def next(self, mode, index, count):
        return self.ask(wire.KEY_NEXT, mode, index, count)[wire.KEY_KEY]

    def before(self, place):
        key = self.next(self.mode or place.mode.decode(), place.index, place.count)
        if self.timed != place.mode:
            self.timed, self.resting = place.mode, python_threads()
            self.in_calls, self.in_between, self.worked_in = 0, 0, 0
        self.make(key, place.warm, place.back_to_back)
        if self.on_gpu:
            threads = python_threads()
            ran = sum(seconds - self.resting.get(thread, 0) for thread, seconds in threads.items())
            self.expect_rest(ran, LEAST_SECONDS_GPU)
        self.begin = perf_counter()

    def make(self, key, warm, back_to_back):
        """What the calls of a sample find."""
        if warm and not self.slow:
            self.use(key ^ OTHER_DATA)
            self.call()
            self.resting = python_threads()
        if not self.on_gpu:
            self.watch()
        self.use(key, deep=True)
        if self.rewrites and back_to_back:
            self.aim_rewriting()

    def expect_rest(self, seconds, least):
        """Other threads ran so long before a call. `least` seconds of a mode are no work, nor is half of what its calls take."""
        self.in_between += seconds
        if self.in_calls and self.in_between > max(least, self.in_calls / 2) and not MAY_SPIN:
            words = f"{self.in_between:.3g} s between calls that take {self.in_calls:.3g} s"
            raise Failure("check", f"a thread works where no clock runs: {words}")

    def expect_rested(self, seconds):
        """Of a call on a CPU that took so many seconds: no thread may have worked before it."""
        self.in_calls += seconds
        worked = self.worked()
        self.worked_in += worked > seconds / 2
        self.expect_rest(worked, SPIN_SECONDS if self.worked_in <= SPIN_SAMPLES else LEAST_SECONDS)

    def taken(self, place, kept):
        if self.on_gpu:
            self.in_calls += perf_counter() - self.begin
        else:
            self.expect_rested(place.seconds)
        self.resting = python_threads()
        self.offer(self.mode or place.mode.decode(), place.index, place.count, kept)
