"""The smallest slow-down that the processes of a comparison would have shown with probability 95%."""

import functools
import math

import numpy as np

from analysis.compare import decide

POWER = 0.95
DRAWS = 200
MORE = 20  # processes a side of a second stage
LIMIT = math.log(10)  # a slow-down beyond ten times is not told apart from none that can be found


@functools.cache
def pairs_needed(base_count, new_count, p):
    """The smallest U (pairs of processes in which NEW is slower) whose exact two-sided p is at most this; all pairs where none is."""
    ways = np.zeros(base_count * new_count + 1)
    ways[0] = 1
    for k in range(1, new_count + 1):  # Gauss's binomial coefficient, factor by factor
        for u in range(len(ways) - 1, base_count + k - 1, -1):
            ways[u] -= ways[u - base_count - k]
        for u in range(k, len(ways)):
            ways[u] += ways[u - k]
    tail = np.cumsum(ways[::-1])[::-1] / math.comb(base_count + new_count, base_count)
    enough = np.flatnonzero(2 * tail <= p)
    return int(enough[0]) if len(enough) else base_count * new_count


def smallest(base, new, level, min_effect, stage_two=None):
    """base, new: times of the processes, by whatever view. level: the p that a lone change has to reach. stage_two: the same of a second
    stage that an ambiguous row would get, None without. -> a ratio above 1, or None where none below ten times would be found."""
    rng = np.random.default_rng(8)
    left = np.concatenate([np.log(side) - np.median(np.log(side)) for side in (base, new)])

    def draw(count):
        return left[rng.integers(len(left), size=(DRAWS, count))]

    first = draw(len(base)), draw(len(new))
    needed = shift_needed(*first, level, min_effect)
    if stage_two:
        asked = math.log1p(decide.LARGE * min_effect) - shift(*first)
        again = [np.concatenate([side, draw(MORE)], axis=1) for side in first]
        needed = np.minimum(needed, np.maximum(asked, shift_needed(*again, stage_two, min_effect)))
    found = float(np.quantile(needed, POWER))
    return math.exp(found) if found < LIMIT else None


def shift(base, new):
    return np.median(new, axis=1) - np.median(base, axis=1)


def shift_needed(base, new, level, min_effect):
    """By how much NEW has to be slower (logarithm) for the ranks to tell it, and for its estimate to be the least effect or more."""
    pairs = (base[:, :, None] - new[:, None, :]).reshape(len(base), -1)
    rank = pairs_needed(base.shape[1], new.shape[1], level) - 1
    return np.maximum(np.partition(pairs, rank, axis=1)[:, rank], math.log1p(min_effect) - shift(base, new))
