"""Statistics of two sides' samples, without verdicts. docs/COMPARISON.md.

Everything works on stacks: an array of shape (rows, processes) holds one number for each process, its median. So a simulated
thousand suites and one real suite go through the same code.
"""

import math
import types

import numpy as np
from scipy import stats

DRAWS = 1000  # of the bootstrap
SEED = 6  # of the bootstrap: the same rows give the same interval
CLOCK_STEADY = 0.005  # standard deviation of log clock below which the clock explains nothing
CHUNK = 2048


def from_processes(
    base,
    new,
    base_mhz=None,
    new_mhz=None,
    base_cycles=None,
    new_cycles=None,
    by_spread=False,
    intervals=True,
    wall_time=False,
):
    """Arrays over rows: ratio (NEW / BASE, above 1 is slower), low, high, p; in_cycles where cycles were judged; the same of time alone. wall_time: of each row, or of all: never in cycles. base, new: seconds, (rows, processes). Clocks and cycles in the same shape, NaN where unknown. by_spread: too few for ranks alone.

    Judged in time or in cycles: a kernel bound by the SM clock is steady in cycles, one bound by memory in seconds.
    """
    in_cycles = np.zeros(len(base), bool)
    if base_cycles is not None:
        in_cycles = follows_clock(base, new, base_mhz, new_mhz, base_cycles, new_cycles) & ~np.asarray(wall_time)
        chosen = in_cycles[:, None]
        judged_base, judged_new = np.where(chosen, base_cycles, base), np.where(chosen, new_cycles, new)
    else:
        judged_base, judged_new = base, new
    low, high = ratio_interval(judged_base, judged_new) if intervals else np.full((2, len(base)), np.nan)
    test = spread_test if by_spread else u_test
    clock = medians(new_mhz) / medians(base_mhz) if base_mhz is not None else np.full(len(base), np.nan)
    return types.SimpleNamespace(
        in_cycles=in_cycles,
        ratio=medians(judged_new) / medians(judged_base),
        low=low,
        high=high,
        p=test(judged_base, judged_new),
        time_ratio=medians(new) / medians(base),
        clock_ratio=clock,
    )


def medians(values):
    return np.median(values, axis=-1)


def follows_clock(base, new, base_mhz, new_mhz, base_cycles, new_cycles):
    """Cycles rather than time? Where the clock varied from process to process, whichever of the two scatters less within the sides.
    Where it only differs between the sides nothing tells how the kernel follows it, and the smaller of the two changes counts."""

    def scatter(one, other):
        return np.sqrt(np.var(np.log(one), axis=-1) + np.var(np.log(other), axis=-1)) / math.sqrt(2)

    def change(one, other):
        return np.abs(np.log(medians(other) / medians(one)))

    with np.errstate(invalid="ignore"):
        known = ~np.isnan(np.concatenate([base_mhz, new_mhz, base_cycles, new_cycles], axis=-1)).any(axis=-1)
        varied, moved = scatter(base_mhz, new_mhz) > CLOCK_STEADY, change(base_mhz, new_mhz) > CLOCK_STEADY
        steadier = scatter(base_cycles, new_cycles) < scatter(base, new)
        smaller = change(base_cycles, new_cycles) < change(base, new)
        return known & np.where(varied, steadier, moved & smaller)


def u_test(base, new):
    """Mann-Whitney U, two-sided. Exact where small: processes taken in a random order are exchangeable if nothing changed, whatever drifts."""
    exact = base.shape[-1] * new.shape[-1] <= 1000
    return rank_test(new, base, axis=-1, method="exact" if exact else "asymptotic")


def rank_test(*sides, **options):
    """p. SciPy from 1.18 on has none where all values are equal: 1, as before."""
    p = stats.mannwhitneyu(*sides, **options).pvalue
    return np.where(np.isnan(p), 1.0, p)


def spread_test(base, new):
    """Where no ranking is rare enough for so many comparisons: of sides that are fully apart, how far, in units of the spread within them
    (Student's t of the log medians). Of others the ranks, so that it is never easier to pass than those."""
    apart = (new.min(axis=-1) > base.max(axis=-1)) | (new.max(axis=-1) < base.min(axis=-1))
    p = u_test(base, new)
    p[apart] = stats.ttest_ind(np.log(new[apart]), np.log(base[apart]), axis=-1).pvalue
    return p


def pooled_spread(*sides):
    """Standard deviation within the sides, of sum of counts - 2 degrees of freedom."""
    squares = sum(np.square(side - side.mean(axis=-1, keepdims=True)).sum(axis=-1) for side in sides)
    return np.sqrt(squares / (sum(side.shape[-1] for side in sides) - len(sides)))


def least_p(base_count, new_count):
    """The smallest p that so many processes can give: full separation."""
    return 2 / math.comb(base_count + new_count, base_count)


def ratio_interval(base, new, level=0.95):
    """Bootstrap over processes, percentile interval of median(NEW) / median(BASE)."""
    rng = np.random.default_rng(SEED)
    base_ranks, new_ranks = (median_ranks(side.shape[-1], rng) for side in (base, new))
    low, high = np.empty(len(base)), np.empty(len(base))
    tails = [50 - 50 * level, 50 + 50 * level]
    for start in range(0, len(base), CHUNK):
        part = slice(start, start + CHUNK)
        draws = pick(np.sort(new[part], axis=-1), new_ranks) / pick(np.sort(base[part], axis=-1), base_ranks)
        low[part], high[part] = np.percentile(draws, tails, axis=-1)
    return low, high


def median_ranks(count, rng):
    """For each draw of `count` out of `count`, the two ranks whose mean is the median of the draw."""
    ranks = np.sort(rng.integers(count, size=(DRAWS, count)), axis=1)
    return ranks[:, (count - 1) // 2], ranks[:, count // 2]


def pick(ordered, ranks):
    if ordered.shape[-1] % 2:
        return ordered[:, ranks[0]]
    return (ordered[:, ranks[0]] + ordered[:, ranks[1]]) / 2


def from_samples(base, new, unseen):
    """One row of few processes: base and new are lists of samples, one array a process; unseen: half the width of the 95% interval, in
    logarithms, for what varies from process to process. The samples are resampled in blocks within each process, for neighbours are alike."""
    rng = np.random.default_rng(SEED)
    draws = np.log(side_draws(new, rng)) - np.log(side_draws(base, rng))
    ratio = float(np.median([np.median(s) for s in new]) / np.median([np.median(s) for s in base]))
    low, high = np.percentile(draws, [2.5, 97.5]) - math.log(ratio)
    p = rank_test(np.concatenate(new), np.concatenate(base))
    return ratio, ratio * math.exp(-math.hypot(low, unseen)), ratio * math.exp(math.hypot(high, unseen)), float(p)


def side_draws(processes, rng):
    return np.median([np.median(block_resample(samples, rng), axis=-1) for samples in processes], axis=0)


def block_resample(samples, rng):
    """Circular blocks of about sqrt(n) neighbours."""
    count = len(samples)
    length = math.ceil(math.sqrt(count))
    starts = rng.integers(count, size=(DRAWS, math.ceil(count / length), 1))
    index = (starts + np.arange(length)).reshape(DRAWS, -1)[:, :count] % count
    return np.asarray(samples)[index]


def levels(values, bounds):
    """(start, end, median) of each segment of a series that begins anew at `bounds`."""
    edges = [0, *bounds, len(values)]
    return [(a, b, float(np.median(values[a:b]))) for a, b in zip(edges, edges[1:])]


def steps(values, bounds):
    """[(where a level begins, level / the one before it)]"""
    found = levels(values, bounds)
    return [(b[0], b[2] / a[2]) for a, b in zip(found, found[1:])]
