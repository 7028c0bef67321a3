"""A suite of `rungs ab` on a simulated machine, judged by the functions that `rungs compare` uses, in the order of judge.py; but intervals,
which take most of the time, are made only where they decide."""
import numpy as np

import checkout  # noqa: F401
from analysis import statistics
from analysis.compare import common, decide, detect, judge, together
from analysis.compare.join import Comparison

ROWS, PROCESSES = 100, 10
MIN_EFFECT = decide.MIN_EFFECT
WHOLE = [Comparison(case="", spec="", mode="cold")] * ROWS


class Stage:
    """Times and clocks of rows, (rows, processes); is_new: of processes."""

    def __init__(self, rng, model, rows, processes, number):
        self.is_new = rng.permutation(np.repeat([False, True], processes))
        self.times, mhz = model(rng, rows, np.arange(2 * processes) / (2 * processes) + number)
        self.mhz = np.full_like(self.times, np.nan) if mhz is None else mhz
        self.sessions = np.full(2 * processes, number)

    def part(self, rows, factor=1.0):
        """Of some rows, with NEW slower."""
        made = object.__new__(Stage)
        made.__dict__.update(self.__dict__, times=self.times[rows] * np.where(self.is_new, factor, 1), mhz=self.mhz[rows])
        return made


class Suite:
    """All rows after the first stage."""

    def __init__(self, first):
        _, self.factor, steady = common.adjust(first.times, first.mhz, first.sessions, first.is_new)
        self.together = together.whole(WHOLE, steady[~first.is_new], steady[first.is_new], MIN_EFFECT)
        self.believed = True
        self.verdicts, self.promising, self.looks = self.judge([first], [np.empty(0)] * 2)

    def judge(self, stages, others):
        """Verdicts of rows, and which are worth a second stage. others: p of the suite's other rows in both looks."""
        times, mhz, is_new, sessions = (np.concatenate([getattr(s, name) for s in stages], axis=-1) for name in ("times", "mhz", "is_new", "sessions"))
        logs = common.centred(np.log(times), sessions)
        logs[:, :len(self.factor)] -= np.log(self.factor)
        if len(stages) == 2 and 2 * len(times) >= ROWS:
            logs[:, len(self.factor):] -= common.common_mode(logs[:, len(self.factor):])
        adjusted = np.exp(common.without_clock(logs, mhz, sessions, is_new))
        share = decide.share(True, 2, len(stages))
        looks = [look(view, is_new, share, rest) for view, rest in zip((times, adjusted), others)]
        by_time, by_rest = ((x.ratio, x.low, x.high, x.p_adjusted) for x in looks)
        by_time = decide.verdicts(*by_time, MIN_EFFECT, 0)
        by_rest = judge.verdicts_adjusted(*by_rest, 0, MIN_EFFECT, self.together)
        if len(times) == ROWS:
            self.believed = self.together.p > decide.ALPHA and np.isin(by_rest, decide.CHANGES).mean() <= common.MOST_APART
        verdicts, _ = decide.both(by_time, by_rest, self.believed)
        large = [x.ratio >= 1 + decide.LARGE * MIN_EFFECT for x in looks]
        return verdicts, (verdicts == "ambiguous") & (large[0] | self.believed & large[1]), looks


def look(times, is_new, share, others):
    """Ratio, p, p_adjusted, and where they may decide the interval. others: p of the suite's other rows, with which it is corrected."""
    found = statistics.from_processes(times[:, ~is_new], times[:, is_new], intervals=False)
    found.p_adjusted = np.minimum(1, decide.adjusted(np.concatenate([found.p, others]))[:len(times)] / share)
    wanted = (found.p_adjusted <= decide.ALPHA) | (found.ratio >= 1 + decide.LARGE * MIN_EFFECT)
    found.low[wanted], found.high[wanted] = statistics.ratio_interval(times[wanted][:, ~is_new], times[wanted][:, is_new])
    return found


def final(rng, model, first, suite, rows, factor=1.0):
    """Verdicts of some rows after both stages."""
    part = first.part(rows, factor)
    rest = [np.delete(x.p, rows) for x in suite.looks]
    verdicts, promising, _ = suite.judge([part], rest)
    if promising.any():
        chosen = np.asarray(rows)[promising]
        more = Stage(rng, model, len(chosen), detect.MORE, 1).part(slice(None), factor)
        verdicts[promising] = suite.judge([first.part(chosen, factor), more], [np.ones(ROWS - len(chosen))] * 2)[0]
    return verdicts


def all_found(rng, model, first, factor):
    """Every row is slower by the factor: does the gate fail?"""
    suite = Suite(first)
    verdicts, chosen = suite.verdicts.copy(), np.flatnonzero(suite.promising)
    if len(chosen):
        more = Stage(rng, model, len(chosen), detect.MORE, 1).part(slice(None), factor)
        verdicts[chosen] = suite.judge([first.part(chosen), more], [np.ones(ROWS - len(chosen))] * 2)[0]
    return bool(suite.together.verdict == "slower" or (verdicts == "slower").any())


def simulate(model, seed, suites, sizes=(1.05, 1.10)):
    """Of so many suites: how many had a false alarm; by size, how often a row slower by it was found, and how often it was called same or
    faster; how many noticed that all rows are 5% slower; rows that a second stage took."""
    rng = np.random.default_rng(seed)
    told = {"alarms": 0, "found": dict.fromkeys(sizes, 0), "wrong": dict.fromkeys(sizes, 0), "all": 0, "again": 0, "suites": suites}
    for _ in range(suites):
        first = Stage(rng, model, ROWS, PROCESSES, 0)
        suite = Suite(first)
        verdicts = suite.verdicts.copy()
        chosen = np.flatnonzero(suite.promising)
        if len(chosen):
            more = Stage(rng, model, len(chosen), detect.MORE, 1)
            verdicts[chosen] = suite.judge([first.part(chosen), more], [np.ones(ROWS - len(chosen))] * 2)[0]
        told["alarms"] += bool(np.isin(verdicts, decide.CHANGES).any() or suite.together.verdict in decide.CHANGES)
        told["again"] += len(chosen)
        for size in sizes:
            verdict = final(rng, model, first, suite, [0], size)[0]
            told["found"][size] += bool(verdict == "slower")
            told["wrong"][size] += bool(verdict in ("same", "faster"))
        told["all"] += all_found(rng, model, first.part(slice(None), sizes[0]), sizes[0])
    return told
