"""Where a series of medians over commits changes its level: docs/COMPARISON.md, "History"."""
import math

import numpy as np
import ruptures

from analysis.statistics import levels

PENALTY = 4.0       # times log(n), in units of the noise: what one more change must gain
LEAST_POINTS = 6    # shorter series have no noise to speak of
LEAST_SEGMENT = 3   # one commit or two may have met a bad day
LEAST_NOISE = 0.003  # of log medians: below it, runs of equal builds are not told apart
OUTLIER = 6.0       # mean absolute deviations
MIN_EFFECT = 0.03


def find(values, min_effect=MIN_EFFECT):
    """values: positive, in order of commits -> indices at which a new level begins."""
    if len(values) < LEAST_POINTS:
        return []
    logs = np.log(np.asarray(values, float))
    scale = max(noise(logs), LEAST_NOISE)
    # Absolute rather than squared deviations: what is left of a bad day moves no median.
    model = ruptures.Pelt(model="l1", min_size=LEAST_SEGMENT, jump=1).fit(without_outliers(logs, OUTLIER * scale) / scale)
    bounds = model.predict(pen=PENALTY * math.log(len(logs)))[:-1]
    return without_small(logs, bounds, math.log1p(min_effect))


def noise(logs):
    """Mean absolute deviation of independent noise, from the differences of neighbours: a few changes of level do not disturb their median."""
    steps = np.abs(np.diff(logs))
    return 1.4826 * float(np.median(steps)) / math.sqrt(2) * math.sqrt(2 / math.pi)


def without_outliers(logs, limit):
    """Hampel's filter: what is further than `limit` from the median of its five neighbours becomes that median. Of a level that lasts
    three commits every one has two of its kind beside it, so a change stays where it is."""
    medians = np.array([np.median(logs[max(0, i - 2):i + 3]) for i in range(len(logs))])
    return np.where(np.abs(logs - medians) > limit, medians, logs)


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
