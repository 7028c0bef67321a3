"""A suite of `rungs ab` on a simulated machine, judged by the functions that `rungs compare` uses, in the order of judge.py; but intervals,
which take most of the time, are made only where they decide. test_compare_noise.py holds this against the real `rungs ab`."""

import types

import numpy as np

import checkout  # noqa: F401
from analysis import statistics
from analysis.compare import again, alike, decide, detect, judge, together
from analysis.compare.join import Comparison

ROWS, PROCESSES = 100, 10
START_SECONDS, SECONDS = 2.0, 20.0  # that a process takes before its first row, and for its rows
MIN_EFFECT = decide.MIN_EFFECT


class Stage:
    """Times and clocks of some rows of a suite, (rows, processes); is_new: of processes."""

    def __init__(self, rng, model, rows, processes, number):
        self.is_new = rng.permutation(np.repeat([False, True], processes))
        self.rows = np.asarray(rows)
        self.times, mhz = model(rng, self.rows, np.arange(2 * processes) / (2 * processes) + number)
        self.mhz = np.full_like(self.times, np.nan) if mhz is None else mhz

    def slowed(self, rows, factor):
        """With some rows of NEW slower; rows: numbers in the suite."""
        made = object.__new__(Stage)
        made.__dict__.update(
            self.__dict__, times=self.times * np.where(self.is_new & np.isin(self.rows, rows)[:, None], factor, 1)
        )
        return made


class Suite:
    """All rows after the first stage, or after both. p[view]: of each row. whole: rows whose interval is made in any case: only these can be `same`."""

    def __init__(self, first, more=None, whole=()):
        stages = [first, more] if more else [first]
        self.is_new = np.concatenate([s.is_new for s in stages])
        sessions = np.repeat(range(len(stages)), [len(s.is_new) for s in stages])
        times, mhz = (
            np.hstack([spread(getattr(s, name), s.rows, len(first.rows)) for s in stages]) for name in ("times", "mhz")
        )
        views, factor = together.views(times, mhz, sessions, self.is_new, np.arange(len(times)))
        factor = [factor[side & ~np.isnan(factor)] for side in (~self.is_new, self.is_new)]
        self.together = together.whole([Comparison(case="", spec="", mode="cold")] * len(times), *factor, MIN_EFFECT)
        self.groups = [
            np.isin(np.arange(len(times)), more.rows) if more else np.zeros(len(times), bool)
        ]  # rows of both stages, and the rest
        self.groups.append(~self.groups[0])
        self.share = np.where(self.groups[0], *(decide.share(True, 1 + len(views), stage) for stage in (2, 1)))
        self.p, self.believed, self.whole = [], True, np.isin(np.arange(len(times)), whole)
        ratio, low, high, self.verdicts = self.look(times)
        self.ratio, self.promising = ratio, (self.verdicts == "ambiguous") & (ratio >= 1 + decide.LARGE * MIN_EFFECT)
        width = high / low
        for view in views:
            ratio, low, high, found = self.look(view.times, view)
            together.Suite.believe(self, found)
            self.verdicts[self.contested & (self.verdicts == "same") & (high / low < width)] = "ambiguous"
            self.verdicts, second = decide.both(self.verdicts, found, self.believed)
            narrower = (self.verdicts == "ambiguous") & self.believed & ~self.misled & (high / low < width)
            self.promising = (self.verdicts == "ambiguous") & (
                self.promising | self.believed & (ratio >= 1 + decide.LARGE * MIN_EFFECT)
            )
            self.ratio, width = (
                np.where(second | narrower, ratio, self.ratio),
                np.where(second | narrower, high / low, width),
            )

    def sides(self, values, wanted=True):
        """By group of rows with times of as many processes: (numbers of rows, times of BASE, of NEW)."""
        for group in self.groups:
            rows = np.flatnonzero(group & wanted)
            if len(rows):
                there = ~np.isnan(values[rows[0]])
                yield rows, values[rows][:, there & ~self.is_new], values[rows][:, there & self.is_new]

    def look(self, times, view=None):
        """Ratio, low, high (NaN: not made) and verdict of all rows in one view."""
        self.contested, self.misled = np.zeros((2, len(times)), bool)
        ratio, p, low, high = np.full((4, len(times)), np.nan)
        removed = np.tile([self.together.low, self.together.high] if view else [1.0, 1.0], (len(times), 1)).T
        for rows, base, new in self.sides(times):
            found = statistics.from_processes(base, new, intervals=False)
            ratio[rows], p[rows] = found.ratio, found.p
        self.p.append(p)
        p = np.minimum(1, decide.adjusted(p) / self.share)
        for rows, base, new in self.sides(
            times, self.whole | (p <= decide.ALPHA) | (ratio >= 1 + decide.LARGE * MIN_EFFECT)
        ):
            low[rows], high[rows] = statistics.ratio_interval(base, new)
        if view is not None and view.alike is not None:
            for rows, base, new in self.sides(view.removed, ~np.isnan(low)):
                removed[:, rows] = statistics.ratio_interval(base, new)
        verdicts = judge.verdicts_adjusted(ratio, low, high, p, 0, MIN_EFFECT, *removed)
        changed = np.isin(verdicts, decide.CHANGES)
        if view is not None:
            verdicts[changed & together.doubted(self.together, ratio)] = "ambiguous"
        if view is not None and view.alike is not None:
            gone = np.ones(len(times))
            for rows, base, new in self.sides(view.alike):
                self.contested[rows], gone[rows] = alike.doubted(base, new, ratio[rows]), alike.change(base, new)
            self.contested &= changed
            self.misled = alike.misled(
                ratio, gone, changed | np.isin(self.verdicts, decide.CHANGES), view.used, MIN_EFFECT
            )
            verdicts[self.contested | changed & self.misled & alike.other_way(ratio, gone)] = "ambiguous"
        return ratio, low, high, verdicts

    def chosen(self):
        """Rows of a second stage that takes as long as the first."""
        rows = [
            Comparison(case=str(i), spec=str(i), mode="cold", ratio=self.ratio[i], promising=self.promising[i])
            for i in range(len(self.ratio))
        ]
        _, found = again.choose(
            rows,
            types.SimpleNamespace(start=START_SECONDS, process=START_SECONDS + SECONDS, limit=2 * PROCESSES * SECONDS),
        )
        return np.sort(np.array(found[2].split(","), int)) if found else np.empty(0, int)


def spread(values, rows, count):
    """Of all rows, NaN where not measured."""
    made = np.full((count, values.shape[1]), np.nan)
    made[rows] = values
    return made


def both_stages(rng, model, first, slow=(), factor=1.0):
    """-> (the suite after both stages, rows in the second)."""
    first = first.slowed(slow, factor)
    suite = Suite(first, whole=slow)
    chosen = suite.chosen()
    if not len(chosen):
        return suite, chosen
    return Suite(first, Stage(rng, model, chosen, detect.MORE, 1).slowed(slow, factor), whole=slow), chosen


def simulate(model, seed, suites, sizes=(1.05, 1.10)):
    """Of so many suites: how many had a false alarm; by size, how often a row slower by it was found, and how often it was called same or
    faster; how many noticed that all rows are 5% slower; rows that a second stage took."""
    rng = np.random.default_rng(seed)
    told = {
        "alarms": 0,
        "found": dict.fromkeys(sizes, 0),
        "wrong": dict.fromkeys(sizes, 0),
        "all": 0,
        "again": 0,
        "suites": suites,
    }
    for _ in range(suites):
        first = Stage(rng, model, np.arange(ROWS), PROCESSES, 0)
        suite, chosen = both_stages(rng, model, first)
        told["alarms"] += bool(
            np.isin(suite.verdicts, decide.CHANGES).any() or suite.together.verdict in decide.CHANGES
        )
        told["again"] += len(chosen)
        for size in sizes:
            verdict = both_stages(rng, model, first, [0], size)[0].verdicts[0]
            told["found"][size] += bool(verdict == "slower")
            told["wrong"][size] += bool(verdict in ("same", "faster"))
        suite, _ = both_stages(rng, model, first, np.arange(ROWS), sizes[0])
        told["all"] += bool(suite.together.verdict == "slower" or (suite.verdicts == "slower").any())
    return told
