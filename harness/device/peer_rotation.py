"""peer_rotation.py - what the timed calls of a peer work on, as harness/worker/rotation.c has it for our own variants: inputs that change from sample
to sample, and samples whose outputs the parent compares. A library allocates its outputs itself, so they cannot be poisoned; other inputs are
what shows a result of the call before."""
import random
from time import perf_counter

SLOW_LOAD_SECONDS = 0.005  # a load of this length before each sample would cost more than the samples
SLOW_CALL_SECONDS = 0.05  # the same of a call that warms the caches
COPIED_BYTES = 64 << 20  # larger inputs are not copied, so no element of theirs is changed


class Rotation:
    def __init__(self, sets, checks, load, call, show):
        """sets: dictionaries of read-only arrays. checks: of the command `time`. load(inputs); call() with its wait; show(mode, sample, set, kept)
        puts the outputs before the parent and returns when that says so."""
        copied = sum(array.nbytes for array in sets[0].values()) <= COPIED_BYTES
        self.sets = sets
        self.arrays = [{name: array.copy() if copied else array for name, array in inputs.items()} for inputs in sets[:2]]
        self.held = [0, 1]  # the set in each of the two places: a third shares that of the first, so that data changes under one address
        self.checks = {mode: {check["sample"]: check["set"] for check in listed} for mode, listed in (checks or {}).items()}
        self.load, self.call, self.show = load, call, show
        self.touched = None
        self.fixed = False  # a graph has been captured with the inputs that are loaded
        self.mode = None  # what the samples count for, if it is not the engine's own name
        self.changeable = [name for name, array in sets[0].items() if copied and array.dtype.kind == "f" and array.size > 1]
        self.shown = self.loaded = None
        tries = 3 if copied else 1  # the first load finds its memory untouched, and another program may take the core for a while
        self.slow_load = all(self.timed(lambda: self.use(0)) > SLOW_LOAD_SECONDS for _ in range(tries))
        self.slow_call = self.timed(call) > SLOW_CALL_SECONDS

    @staticmethod
    def timed(work):
        begin = perf_counter()
        work()
        return perf_counter() - begin

    def place(self, number):
        """The arrays that have the inputs of a set, or have them from now on."""
        place = int(number == 1)
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
        self.load(views)
        self.loaded = number

    def touch(self, number):
        """One element becomes another of the same array."""
        array = self.place(number)[random.choice(self.changeable)].reshape(-1)
        index, source = random.randrange(array.size), random.randrange(array.size)
        self.touched = (array, index, array[index].copy())
        array[index] = array[source]

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
        if number is None and checked and len(self.sets) > 1:
            number = 1 if self.shown == 0 else 0  # not what was compared before
        keeps = self.slow_load or (self.slow_call and place.warm)
        if number is None:
            number = self.loaded if keeps or len(self.sets) < 2 else place.index % 2
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
            arrays = {name: self.place(self.loaded)[name] for name in self.changeable}
            for array in arrays.values():
                array.fill(float("nan"))  # a result that is computed only when it is looked at has nothing to be computed from
            self.show(mode, place.index, self.loaded, kept)
            for name, array in arrays.items():
                array[...] = self.sets[self.loaded][name]

    def fix(self, mode):
        """Loads the set that is to be compared in this mode; it stays."""
        self.restore()
        self.use(next(iter(self.checks.get(mode, {}).values()), 0))
        self.mode, self.fixed = mode, True

    def release(self):
        self.mode, self.fixed = None, False
