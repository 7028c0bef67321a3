"""peer_rotation.py - what the timed calls of a peer work on, as harness/worker/rotation.c has it for our own variants: inputs made anew for each
sample by a key that the parent gives just before it, and samples whose outputs the parent compares. A library allocates its outputs itself, so they
cannot be poisoned; other inputs are what shows a result of the call before."""

import ctypes
import random
from time import perf_counter

import peer_protocol as wire

DTYPES = {"<f4": 0, "<f8": 1, "<i4": 2, "<i8": 3, "|u1": 4}  # as in base/array.h
KEPT = 64  # elements that differ
SLOW_CALL_SECONDS = 0.05  # of a call that warms the caches
WEYL, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
WORD = (1 << 64) - 1


def rng_at(seed, index):
    """As in base/rng.h."""
    z = (seed * 0xD1342543DE82EF95 + (index + 1) * WEYL) & WORD
    z = ((z ^ (z >> 30)) * FIRST) & WORD
    z = ((z ^ (z >> 27)) * SECOND) & WORD
    return z ^ (z >> 31)


class Rotation:
    def __init__(self, sets, vary, c, load, call, ask, show):
        """sets: two dictionaries of read-only arrays, from which timed calls get theirs. vary: of the command `time`. c: librungs_measure.so.
        load(inputs); call() with its wait; ask(key, mode, sample, of) -> the parent's answer; show(mode, sample, of, kept) puts the outputs before
        the parent if it wants them."""
        self.sets, self.vary, self.load, self.call, self.ask, self.show = sets, vary, load, call, ask, show
        self.c = c.measure_vary
        self.c.restype = None
        self.c.argtypes = [ctypes.c_int, ctypes.c_uint64, ctypes.c_int, ctypes.c_size_t, *[ctypes.c_void_p] * 3]
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
            self.c(how, rng_at(key, index), DTYPES[array.dtype.str], array.size, first, second, array.ctypes.data)
            if almost:
                begin = random.randrange(array.size)
                array.reshape(-1)[begin : begin + KEPT] = self.sets[0][name].reshape(-1)[begin : begin + KEPT]
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
        self.show(self.mode or place.mode.decode(), place.index, place.count, kept)

    def fix(self, mode):
        """Loads the inputs of this mode's samples; they stay."""
        self.use(self.next(mode, 0, 0))
        self.mode, self.fixed = mode, True

    def release(self):
        self.mode, self.fixed = None, False
