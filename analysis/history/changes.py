"""Where a series of medians over commits changes its level: docs/COMPARISON.md, "History"."""

import math

import numpy as np
import ruptures

from analysis.statistics import levels

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
        steps = [abs(b[2] - a[2]) for a, b in zip(found, found[1:])]
        smallest = int(np.argmin(steps))
        if steps[smallest] >= least:
            break
        del bounds[smallest]
    return bounds
