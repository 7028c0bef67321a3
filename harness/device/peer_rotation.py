"""peer_rotation.py - what the timed calls of a peer work on, as harness/worker/rotation.c has it for our own variants: inputs that change from sample
to sample, and samples whose outputs the parent compares. A library allocates its outputs itself, so they cannot be poisoned; other inputs are
what shows a result of the call before."""

import math
import random
from time import perf_counter

import peer_protocol as wire

SLOW_LOAD_SECONDS = 0.005  # a load of this length before each sample would cost more than the samples
SLOW_CALL_SECONDS = 0.05  # the same of a call that warms the caches
COPIED_BYTES = 64 << 20  # larger inputs are not copied, so no element of theirs is changed
TRIES, SINGLE = 16, 8
EQUALS_MOST = 256  # elements looked at for one that differs


def keeps_order(left, x, right, value):
    """Between its neighbours, above both or below both: as x is, so is value. A NaN, or no neighbour, compares with nothing."""
    if not left > x and not right < x and (left < x or right > x):
        return not left > value and not right < value
    if not left < x and not right > x and (left > x or right < x):
        return not left < value and not right > value
    return left <= value >= right if left < x > right else left >= value <= right if left > x < right else False


def drawn_change(array):
    """As change_draw() of harness/base/change.c for one element: (index, new value) such that NaN and infinities are where they were, and elements
    in their order to their neighbours. None if there is none."""

    def at(i):
        return float(array[i]) if 0 <= i < array.size else math.nan

    for k in range(TRIES):
        index, other = random.randrange(array.size), random.randrange(array.size)
        if not math.isfinite(x := at(index)):
            continue
        if math.isfinite(at(other)) and at(other) != x and keeps_order(at(index - 1), x, at(index + 1), at(other)):
            return index, array[other]
        for step in random.sample((1, -1), 2) if k >= SINGLE else ():
            last = next((i for i in range(index, index + EQUALS_MOST * step, step) if at(i + step) != x), index)
            if math.isfinite(at(last + step)) and keeps_order(at(last - 1), x, at(last + 1), at(last + step)):
                return last, array[last + step]
    return None


class Rotation:
    def __init__(self, sets, begin, checks, load, call, show):
        """sets: dictionaries of read-only arrays, of which timed calls use those from number begin on. checks: of the command `time`. load(set, arrays);
        call() with its wait; show(mode, sample, set, kept) puts the outputs before the parent and returns when that says so."""
        copied = sum(array.nbytes for array in sets[0].values()) <= COPIED_BYTES
        self.sets, self.begin = sets, begin
        self.arrays = [
            {name: array.copy() if copied else array for name, array in inputs.items()}
            for inputs in sets[begin : begin + 2]
        ]
        self.held = [
            begin,
            begin + 1,
        ]  # the set in each of the two places: a third shares that of the first, so that data changes under one address
        self.checks = {
            mode: {check[wire.KEY_SAMPLE]: check[wire.KEY_SET] for check in listed}
            for mode, listed in (checks or {}).items()
        }
        self.load, self.call, self.show = load, call, show
        self.touched = None
        self.fixed = False  # a graph has been captured with the inputs that are loaded
        self.mode = None  # what the samples count for, if it is not the engine's own name
        self.changeable = [
            name for name, array in sets[0].items() if copied and array.dtype.kind == "f" and array.size > 1
        ]
        self.shown = self.loaded = None
        tries = (
            3 if copied else 1
        )  # the first load finds its memory untouched, and another program may take the core for a while
        self.slow_load = all(self.timed(lambda: self.use(begin)) > SLOW_LOAD_SECONDS for _ in range(tries))
        self.slow_call = self.timed(call) > SLOW_CALL_SECONDS

    @staticmethod
    def timed(work):
        begin = perf_counter()
        work()
        return perf_counter() - begin

    def place(self, number):
        """The arrays that have the inputs of a set, or have them from now on."""
        place = int(number == self.begin + 1)
        if self.held[place] != number:
            for name, array in self.sets[number].items():
                self.arrays[place][name][...] = array
            self.held[place] = number
        return self.arrays[place]

    def use(self, number):
        """The library gets the inputs of a set, read-only as in every run."""
        views = {name: array.view() for name, array in self.place(number).items()}
        for view in views.values():
            view.flags.writeable = False
        self.load(number, views)
        self.loaded = number

    def touch(self, number):
        """One element becomes another of the same array."""
        array = self.place(number)[random.choice(self.changeable)].reshape(-1)
        if change := drawn_change(array):
            index, value = change
            self.touched = (array, index, array[index].copy())
            array[index] = value

    def restore(self):
        if self.touched:
            array, index, value = self.touched
            array[index] = value
            self.touched = None

    def is_checked(self, mode, place):
        return place.index in self.checks.get(mode, {}) or (place.last and place.back_to_back)

    def before(self, place):
        mode = self.mode or place.mode.decode()
        if self.fixed:
            return
        if place.pilot:
            self.shown = None
        checked, dirty = self.is_checked(mode, place), self.touched is not None
        number = self.checks.get(mode, {}).get(place.index)
        if number is None and checked and len(self.arrays) > 1:
            number = self.begin + (self.shown == self.begin)  # not what was compared before
        keeps = self.slow_load or (self.slow_call and place.warm)
        if number is None:
            number = self.loaded if keeps or len(self.arrays) < 2 else self.begin + place.index % 2
        changes = self.changeable and not checked and not keeps
        self.restore()
        moved = number != self.loaded
        if changes:
            self.touch(number)
        if moved or dirty or changes:
            self.use(number)
        if place.warm and (moved or place.pilot):
            self.call()

    def taken(self, place, kept):
        mode = self.mode or place.mode.decode()
        if self.is_checked(mode, place):
            self.shown = self.loaded
            self.show(mode, place.index, self.loaded, kept)

    def fix(self, mode):
        """Loads the set that is to be compared in this mode; it stays."""
        self.restore()
        self.use(next(iter(self.checks.get(mode, {}).values()), self.begin))
        self.mode, self.fixed = mode, True

    def release(self):
        self.mode, self.fixed = None, False
