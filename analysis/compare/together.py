"""A suite of `rungs ab` as a whole: its processes, what all rows have in common, and whether that changed."""
import dataclasses

import numpy as np

from analysis import statistics
from analysis.compare import common, decide

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


class Suite:
    """Rows whose processes ran in a random order and that share a device and a kind of mode. adjusted[i]: of comparison i, by side."""

    def __init__(self, group, min_effect):
        self.group, self.together = group, None
        runs = sorted({(run, side) for c in group for side in (0, 1) for run in c.series[side].runs}, key=str)
        at = {run: k for k, (run, _) in enumerate(runs)}
        is_new = np.array([side == 1 for _, side in runs])
        session_of = {run: session for c in group for s in c.series for run, session in zip(s.runs, s.sessions)}
        names = {session: k for k, session in enumerate(sorted(set(session_of.values()), key=str))}
        sessions = np.array([names[session_of[run]] for run, _ in runs])
        seconds, mhz = np.full((2, len(group), len(runs)), np.nan)
        for i, c in enumerate(group):
            for series in c.series:
                columns = [at[run] for run in series.runs]
                seconds[i, columns], mhz[i, columns] = series.seconds, series.mhz
        adjusted, _, factor = common.adjust(seconds, mhz, sessions, is_new)
        self.adjusted = [tuple(adjusted[i, [at[run] for run in s.runs]] for s in c.series) for i, c in enumerate(group)]
        told = [factor[side & ~np.isnan(factor)] for side in (~is_new, is_new)]
        if min(map(len, told)) >= decide.MIN_PROCESSES:
            self.together = whole(group, *told, min_effect)
        self.has_adjusted = self.together is not None or not np.allclose(adjusted, np.exp(common.centred(np.log(seconds), sessions)), equal_nan=True)

    def believed(self, verdicts):
        """Are `the others` a reference? Not where they changed together, nor where many differ from them."""
        if self.together and self.together.p <= decide.ALPHA:
            return False
        return np.isin(verdicts, decide.CHANGES).mean() <= common.MOST_APART


def whole(group, base, new, min_effect):
    found = statistics.from_processes(base[None], new[None])
    p = float(found.p[0]) / decide.TOGETHER_SHARE
    ratio, low, high = (float(x[0]) for x in (found.ratio, found.low, found.high))
    return Together(group[0].device, group[0].mode in HOST_MODES, len(group), ratio, low, high, float(found.p[0]),
                    str(decide.verdicts(ratio, low, high, p, min_effect, 0)))


def suites_of(pending, min_effect):
    groups = {}
    for c in pending:
        if c.randomised:
            groups.setdefault((c.device, c.mode in HOST_MODES), []).append(c)
    return [Suite(group, min_effect) for group in groups.values()]
