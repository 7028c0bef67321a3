"""peer_rotation.py - what the timed calls of a peer work on, as harness/worker/rotation.c has it for our own variants: inputs made anew for each
sample by a key that the parent gives just before it, and samples whose outputs the parent compares. A library allocates its outputs itself, so they
cannot be poisoned; other inputs are what shows a result of the call before."""

import ctypes
import random
from time import perf_counter

import peer_protocol as wire
from peer_timing import Flag, Size, structure

Number = ctypes.c_int
VariedInput = structure(  # as in measure/measure.h
    "VariedInput", how=Number, input=Number, dtype=Number, almost=Flag, key=ctypes.c_uint64, n=Size
)
DTYPES = {"<f4": 0, "<f8": 1, "<i4": 2, "<i8": 3, "|u1": 4}  # as in base/array.h
SLOW_CALL_SECONDS = 0.05  # of a call that warms the caches


class Rotation:
    def __init__(self, sets, vary, c, load, call, ask, offer):
        """sets: two dictionaries of read-only arrays, from which timed calls get theirs. vary: of the command `time`. c: librungs_measure.so.
        load(inputs); call() with its wait; ask(key, mode, sample, of) -> the parent's answer; offer(mode, sample, of, kept) puts the outputs before
        the parent if it wants them."""
        self.sets, self.vary, self.load, self.call, self.ask, self.offer = sets, vary, load, call, ask, offer
        self.c = c.measure_vary
        self.c.restype = None
        self.c.argtypes = [ctypes.POINTER(VariedInput), *[ctypes.c_void_p] * 3]
        self.arrays = {
            name: array.copy() if how and array.size else array
            for how, (name, array) in zip(vary, sets[0].items(), strict=True)
        }
        self.fixed = False  # a graph has been captured with the inputs that are loaded
        self.mode = None  # what the samples count for, if it is not the engine's own name
        self.use(random.getrandbits(63))
        begin = perf_counter()
        call()
        self.slow = perf_counter() - begin > SLOW_CALL_SECONDS

    def use(self, key, almost=False):
        """The library gets the inputs of a key, read-only as in every run. almost: but for some elements, which are those of the first set."""
        for index, (how, (name, array)) in enumerate(zip(self.vary, self.arrays.items(), strict=True)):
            if not how or not array.size:
                continue
            array.flags.writeable = True
            first, second = (self.sets[k][name].ctypes.data for k in (0, -1))
            made = VariedInput(how, index, DTYPES[array.dtype.str], almost, key, array.size)
            self.c(made, first, second, array.ctypes.data)
            array.flags.writeable = False
        self.load(dict(self.arrays))

    def next(self, mode, index, count):
        return self.ask(wire.KEY_NEXT, mode, index, count)[wire.KEY_KEY]

    def before(self, place):
        if self.fixed:
            return
        key = self.next(self.mode or place.mode.decode(), place.index, place.count)
        if place.warm and not self.slow:
            self.use(key, almost=True)
            self.call()
        self.use(key)

    def taken(self, place, kept):
        self.offer(self.mode or place.mode.decode(), place.index, place.count, kept)

    def fix(self, mode):
        """Loads the inputs of this mode's samples; they stay."""
        self.use(self.next(mode, 0, 0))
        self.mode, self.fixed = mode, True

    def release(self):
        self.mode, self.fixed = None, False
