"""Where times change: a series of medians over commits its level, less what all series of its machine do at one commit (the machine changed, or what the
variants share). docs/COMPARISON.md, "History"."""

import math
from dataclasses import dataclass

import numpy as np
import ruptures

from analysis.history.series import History
from analysis.rows import grouped
from analysis.statistics import levels, steps

PENALTY = 4.0  # times log(n): what one more change must gain, in units of the noise
GAIN = 5.5  # times log(n): and in twice the log likelihood, where noise may be correlated
LEAST_POINTS = 6  # a shorter series does not show its noise
LEAST_SEGMENT = 3  # one commit or two may have met a bad day
LEAST_NOISE = 0.003  # of log medians: below it, runs of equal builds are not told apart
OUTLIER = 5.0  # standard deviations
MIN_EFFECT = 0.03
CORRELATIONS = np.linspace(0, 0.98, 50)  # of a commit with the one before it


def find(values, min_effect=MIN_EFFECT):
    """values: positive, in order of commits -> indices at which a new level begins."""
    if len(values) < LEAST_POINTS:
        return []
    logs = np.log(np.asarray(values, float))
    scale = max(noise(logs), LEAST_NOISE)
    quiet = without_outliers(logs, OUTLIER * scale)
    if np.ptp(quiet) < math.log1p(min_effect):
        return []
    model = ruptures.KernelCPD(kernel="linear", min_size=LEAST_SEGMENT).fit(quiet[:, None] / scale)
    bounds = model.predict(pen=PENALTY * math.log(len(logs)))[:-1]
    return without_small(logs, without_drift(quiet, bounds), math.log1p(min_effect))


def noise(logs):
    """Standard deviation of independent noise, from the differences of neighbours: a few changes of level do not disturb their median."""
    return 1.4826 * float(np.median(np.abs(np.diff(logs)))) / math.sqrt(2)


def without_outliers(logs, limit):
    """Hampel's filter: what is further than `limit` from the median of its five neighbours becomes that median. Of a level that lasts
    three commits every one has two of its kind beside it, so a change stays where it is."""
    medians = np.array([np.median(logs[max(0, i - 2) : i + 3]) for i in range(len(logs))])
    return np.where(np.abs(logs - medians) > limit, medians, logs)


def without_drift(logs, bounds):
    """Bounds that days which resemble one another do not explain: each must gain more likelihood than it costs where noise is correlated
    from commit to commit (AR(1), its correlation fitted anew)."""
    bounds = list(bounds)
    misfit = unlikeliness(logs, bounds)
    while bounds:
        without = [unlikeliness(logs, bounds[:k] + bounds[k + 1 :]) for k in range(len(bounds))]
        best = int(np.argmin(without))
        if without[best] - misfit > GAIN * math.log(len(logs)):
            break
        misfit = without[best]
        del bounds[best]
    return bounds


def unlikeliness(logs, bounds):
    """-2 log likelihood of levels with AR(1) noise of at least LEAST_NOISE, but for a constant."""
    left = logs.copy()
    for start, end in zip([0, *bounds], [*bounds, len(logs)]):
        left[start:end] -= left[start:end].mean()
    steps = left[1:] - CORRELATIONS[:, None] * left[:-1]
    squares = (1 - CORRELATIONS**2) * left[0] ** 2 + np.square(steps).sum(axis=1)
    variance = np.maximum(squares / len(logs), LEAST_NOISE**2)
    return float((len(logs) * np.log(variance) + squares / variance - np.log(1 - CORRELATIONS**2)).min())


def without_small(logs, bounds, least):
    """The smallest step goes first, for the levels beside it change with it."""
    bounds = list(bounds)
    while bounds:
        found = levels(logs, bounds)
        sizes = [abs(b[2] - a[2]) for a, b in zip(found, found[1:])]
        smallest = int(np.argmin(sizes))
        if sizes[smallest] >= least:
            break
        del bounds[smallest]
    return bounds


LEAST_SERIES = 10
ROUNDS = 4  # of Tukey's median polish


@dataclass
class Machine:
    """Of one kind of machine: the factor that its series have in common at each commit, and where it changes its level."""

    machine: tuple
    order: list
    factors: list
    bounds: list

    def steps(self):
        """[(index of the commit, new level / old level)]"""
        return steps(self.factors, self.bounds)


def marked(paths, repository):
    """-> (History, its series of two commits and more with their changes marked, the machines' common steps): for every page the same."""
    history = History(paths, repository)
    several = [s for s in history.series if len(s.points) >= 2]
    return history, several, find_changes(several, history.order)


def find_changes(series, order):
    """Fills in `bounds` and `common` of every series; -> a Machine for each kind of machine that has enough of them."""
    found = []
    for machine, group in grouped(series, lambda one: one.machine).items():
        if len(group) >= LEAST_SERIES:
            found.append(common_of(machine, group, order))
        for one in group:
            values = np.array([p.seconds for p in one.points])
            one.bounds = find(values / one.common if len(one.common) else values)
    return found


def common_of(machine, group, order):
    place = {commit: k for k, commit in enumerate(order)}
    logs = np.full((len(group), len(order)), np.nan)
    for i, one in enumerate(group):
        logs[i, [place[p.commit] for p in one.points]] = np.log([p.seconds for p in one.points])
    known = (~np.isnan(logs)).sum(axis=0) >= LEAST_SERIES
    logs = logs[:, known]
    there = ~np.isnan(logs).all(axis=1)
    common = polish(logs[there]) if known.any() else np.zeros(0)
    whole = np.zeros(len(order))
    whole[known] = common
    for one in group:
        one.common = np.exp(whole[[place[p.commit] for p in one.points]])
    commits = [commit for commit, there in zip(order, known) if there]
    return Machine(machine, commits, np.exp(common), find(np.exp(common)))


def polish(logs):
    """The effect of each column, where rows have levels of their own and may lack columns."""
    columns = np.zeros(logs.shape[1])
    for _ in range(ROUNDS):
        rows = np.nanmedian(logs - columns, axis=1)
        columns = np.nanmedian(logs - rows[:, None], axis=0)
    return columns - np.median(columns)
