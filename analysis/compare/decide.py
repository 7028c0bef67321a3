"""From statistics to verdicts: "The rule" of docs/COMPARISON.md."""

import math

import numpy as np
from scipy import stats

ALPHA = 0.005  # chance that a suite in which nothing changed has a verdict `slower` or `faster`
MIN_EFFECT = 0.03
MIN_PROCESSES = 5  # on each side, to be judged by processes rather than samples
MIN_SPREAD_PROCESSES = 9  # a spread seen in fewer is not believed alone
MIN_DEGREES = 4  # of freedom, for a spread seen to raise the floor; Student's t of fewer would hide everything
ASSUMED_SPREAD = 0.03  # of log process medians, where too few processes show it and it was not calibrated
TOGETHER_SHARE = 0.1  # of ALPHA: all rows together, where they have a common factor
STAGE_SHARES = {1: 0.8, 2: 0.2}  # of ALPHA, where a second stage was planned before the first began
LARGE = 2 / 3  # of the least effect: an ambiguous row that seems this much slower is worth a second stage
MEDIAN_LOSS = math.sqrt(math.pi / 2)  # standard error of a median over that of a mean, normal noise


def share(together, views, stage=None):
    """Of ALPHA, that one test of a row has. together: is its common factor tested too; views: of the row's times (1, or 2: as they are and
    adjusted); stage: of two, None where no second was planned."""
    return (1 - TOGETHER_SHARE if together else 1) / views * STAGE_SHARES.get(stage, 1)


def adjusted(p, axis=-1, suite=None, share=1):
    """Benjamini-Hochberg over a family: p of one kind of test. Where nothing changed at all it keeps the chance of a single false alarm
    below ALPHA x share. suite: of how many comparisons, all kinds together; the family's share of them is its share of ALPHA."""
    if not np.size(p):
        return np.asarray(p, float)
    count = np.shape(p)[axis]
    return np.minimum(1, stats.false_discovery_control(p, axis=axis, method="bh") * ((suite or count) / count / share))


def noise_floor(spread, degrees, base_count, new_count, suite):
    """The least effect to believe: what `suite` comparisons of equal builds exceed once with probability ALPHA, for normal log medians
    of the given standard deviation, itself known from `degrees` + 1 processes (inf: assumed)."""
    return np.expm1(
        quantile(1 - ALPHA / (2 * max(suite, 1)), degrees)
        * MEDIAN_LOSS
        * spread
        * math.sqrt(1 / base_count + 1 / new_count)
    )


def half_width(spread, degrees, base_count, new_count):
    """Of the 95% interval of a log ratio, for spread from process to process alone."""
    return quantile(0.975, degrees) * spread * math.sqrt(1 / base_count + 1 / new_count)


def quantile(chance, degrees):
    return stats.t.ppf(chance, degrees) if math.isfinite(degrees) else stats.norm.ppf(chance)


def verdicts(ratio, low, high, p_adjusted, min_effect, floor):
    """Arrays or numbers; floor: the noise floor of each row, 0 where there is none."""
    ratio, low, high, p_adjusted, floor = np.broadcast_arrays(ratio, low, high, p_adjusted, floor)
    least = 1 + np.maximum(min_effect, floor)
    significant = p_adjusted <= ALPHA
    slower = significant & (ratio >= least) & (low > 1)
    faster = significant & (ratio <= 1 / least) & (high < 1)
    same = (low > 1 / (1 + min_effect)) & (high < 1 + min_effect)
    return np.select([slower, faster, same], ["slower", "faster", "same"], "ambiguous")


CHANGES = ("slower", "faster")


def both(times, adjusted, believed):
    """Verdicts by wall time and by adjusted times -> (verdict, is it that of the adjusted). Wall time decides where it tells a change.
    `same` of adjusted times counts only where the caller has made sure that not all rows changed together."""
    times, adjusted, believed = np.broadcast_arrays(times, adjusted, believed)
    second = (
        ~np.isin(times, CHANGES)
        & believed
        & (np.isin(adjusted, CHANGES) | ((times == "ambiguous") & (adjusted == "same")))
    )
    return np.where(second, adjusted, times), second
