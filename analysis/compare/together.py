"""A suite of `rungs ab` as a whole: its processes, what all rows have in common, and whether that changed."""

import dataclasses
import math

import numpy as np

from analysis import statistics
from analysis.compare import alike, common, decide
from analysis.rows import grouped

MATTERS = 0.01  # a reference that has changed by less makes no change of the least effect
HOST_MODES = ("enqueue", "complete", "first")


@dataclasses.dataclass
class Together:
    """All rows of one device in one kind of mode. Ratios are NEW / BASE of the factor that a process has in all rows."""

    device: str | None
    host: bool
    rows: int
    ratio: float
    low: float
    high: float
    p: float
    verdict: str


@dataclasses.dataclass
class View:
    """Adjusted times, (rows, processes). alike: what was removed because rows that vary alike have it in common, removed: that and the
    common factor, None where nothing but the common factor was removed, which `Together` tests. used[row, other]: was the other one of them?"""

    name: str
    times: np.ndarray
    alike: np.ndarray | None = None
    removed: np.ndarray | None = None
    used: np.ndarray | None = None


def views(seconds, mhz, sessions, is_new, kin):
    """-> (views of the rows beside wall time, the common factor of each process without what follows the clock, NaN: none). Which views
    there are does not depend on which process is of which side."""
    logs = common.centred(np.log(seconds), sessions)
    left, factor = common.adjust(logs, mhz, sessions, is_new)
    found = []
    if not np.allclose(left, logs, equal_nan=True):
        found.append(View("adjusted", np.exp(left)))
    beyond, used = alike.adjust(left, sessions, kin)
    if beyond is not None:
        found.append(
            View("alike", np.exp(beyond), np.exp(left - beyond), np.exp(left - beyond + np.nan_to_num(factor)), used)
        )
    return found, np.exp(factor)


class Suite:
    """Rows whose processes ran in a random order and that share a device and a kind of mode."""

    def __init__(self, group, min_effect):
        self.group, self.together, self.believed = group, None, True
        runs = sorted({(run, side) for c in group for side in (0, 1) for run in c.series[side].runs}, key=str)
        self.at = {run: k for k, (run, _) in enumerate(runs)}
        is_new = np.array([side == 1 for _, side in runs])
        session_of = {run: session for c in group for s in c.series for run, session in zip(s.runs, s.sessions)}
        names = {session: k for k, session in enumerate(sorted(set(session_of.values()), key=str))}
        sessions = np.array([names[session_of[run]] for run, _ in runs])
        seconds, mhz = np.full((2, len(group), len(runs)), np.nan)
        for i, c in enumerate(group):
            for series in c.series:
                columns = [self.at[run] for run in series.runs]
                seconds[i, columns], mhz[i, columns] = series.seconds, series.mhz
        kin = np.unique([f"{c.case} {c.spec}" for c in group], return_inverse=True)[1]
        self.views, factor = views(seconds, mhz, sessions, is_new, kin)
        factors = [factor[side & ~np.isnan(factor)] for side in (~is_new, is_new)]
        if min(map(len, factors)) >= decide.MIN_PROCESSES:
            self.together = whole(group, *factors, min_effect)

    def sides(self, values, i):
        """Of (rows, processes) those of comparison i, by side."""
        return [values[i, [self.at[run] for run in s.runs]] for s in self.group[i].series]

    def believe(self, verdicts):
        """Are `the others` a reference? Not where many differ from them. What one view of the suite is not believed for, the next is not either."""
        self.believed &= bool(np.isin(verdicts, decide.CHANGES).mean() <= common.MOST_APART)


def doubted(together, ratio):
    """Ratios of adjusted times. Did all rows together change the other way, so that a row only seems to have changed?"""
    if not together or together.p > decide.ALPHA or abs(math.log(together.ratio)) < math.log1p(MATTERS):
        return np.zeros_like(ratio, bool)
    return np.log(ratio) * math.log(together.ratio) < 0


def whole(group, base, new, min_effect):
    found = statistics.from_processes(base[None], new[None])
    p = float(found.p[0]) / decide.TOGETHER_SHARE
    ratio, low, high = (float(x[0]) for x in (found.ratio, found.low, found.high))
    return Together(
        group[0].device,
        group[0].mode in HOST_MODES,
        len(group),
        ratio,
        low,
        high,
        float(found.p[0]),
        str(decide.verdicts(ratio, low, high, p, min_effect, 0)),
    )


def suites_of(pending, min_effect):
    groups = grouped((c for c in pending if c.randomised), lambda c: (c.device, c.mode in HOST_MODES))
    return [Suite(group, min_effect) for group in groups.values()]
