"""From evidence to verdicts: the rule of docs/METHOD.md, "Comparing two builds"."""
import math

import numpy as np
from scipy import stats

ALPHA = 0.005            # chance that a suite in which nothing changed has a verdict `slower` or `faster`
MIN_EFFECT = 0.03
MIN_PROCESSES = 5        # with fewer on a side the spread from process to process cannot be seen
ASSUMED_SPREAD = 0.03    # of log process medians, where it can neither be seen nor was calibrated
MEDIAN_LOSS = math.sqrt(math.pi / 2)  # standard error of a median over that of a mean, normal noise


def adjusted(p, axis=-1, suite=None):
    """Benjamini-Hochberg over a family: p of one kind of test. Where nothing changed at all it keeps the chance of a single false alarm
    below ALPHA. suite: of how many comparisons, all kinds together; the family's share of them is its share of ALPHA."""
    if not np.size(p):
        return np.asarray(p, float)
    count = np.shape(p)[axis]
    return np.minimum(1, stats.false_discovery_control(p, axis=axis, method="bh") * ((suite or count) / count))


def noise_floor(spread, degrees, base_count, new_count, suite):
    """The least effect to believe: what `suite` comparisons of equal builds exceed once with probability ALPHA, for normal log medians
    of the given standard deviation, itself known from `degrees` + 1 processes (inf: assumed)."""
    quantile = stats.t.ppf(1 - ALPHA / (2 * max(suite, 1)), degrees) if math.isfinite(degrees) else stats.norm.ppf(1 - ALPHA / (2 * max(suite, 1)))
    return np.expm1(quantile * MEDIAN_LOSS * spread * math.sqrt(1 / base_count + 1 / new_count))


def verdicts(ratio, low, high, p_adjusted, min_effect, floor):
    """Arrays or numbers; floor: the noise floor of each row, 0 where there is none."""
    ratio, low, high, p_adjusted, floor = np.broadcast_arrays(ratio, low, high, p_adjusted, floor)
    least = 1 + np.maximum(min_effect, floor)
    told = p_adjusted <= ALPHA
    slower = told & (ratio >= least) & (low > 1)
    faster = told & (ratio <= 1 / least) & (high < 1)
    same = (low > 1 / (1 + min_effect)) & (high < 1 + min_effect)
    return np.select([slower, faster, same], ["slower", "faster", "same"], "ambiguous")
