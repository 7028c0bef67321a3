"""Adjusts times: removes what all rows of a process have in common (temperature, other users, clocks) and what follows a row's SM clock.
Both are estimated without knowing which process is of which side, so adjusted times are as exchangeable as raw ones, and a rank test of
them is as exact."""
import warnings

import numpy as np

from analysis import statistics

LEAST_ROWS = 10        # fewer rows estimate the common factor of a process poorly
Z_CLOCK_CHANGED = 2.58  # p = 0.01: the clocks of the sides differ beyond chance, so the build causes it, and wall time decides
SLOPES = np.linspace(-1, 1, 81)
MOST_APART = 1 / 3     # share of rows: where more differ from the rest, the rest is no reference


def adjust(seconds, mhz, sessions, is_new):
    """seconds, mhz: (rows, processes), NaN: not measured or not known. sessions: (processes,), equal for processes of one random order.
    -> (adjusted times around 1 in the same shape; the common factor of each process, NaN where too few rows have it; that factor
    without what follows the median clock of the rows)."""
    logs = centred(np.log(seconds), sessions)
    factor = common_mode(logs)
    left = without_clock(logs - np.nan_to_num(factor), mhz, sessions, is_new)
    steady = without_clock(factor[None], quiet_median(mhz, 0)[None], sessions, is_new)[0]
    return np.exp(left), np.exp(factor), np.exp(steady)


def centred(logs, sessions):
    """Subtracts the row's median in each session: sessions may lie days apart."""
    result = np.full_like(logs, np.nan)
    for session in np.unique(sessions):
        part = sessions == session
        result[:, part] = logs[:, part] - quiet_median(logs[:, part], 1)[:, None]
    return result


def quiet_median(values, axis):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a slice of NaN only
        return np.nanmedian(values, axis=axis)


def common_mode(logs):
    """The median over rows, for each process. A process with fewer than half of the rows has none: rows that were chosen for a second
    stage are no sample of all rows."""
    rows = (~np.isnan(logs)).sum(axis=0)
    return np.where(rows >= max(LEAST_ROWS, len(logs) / 2), quiet_median(logs, 0), np.nan)


def without_clock(logs, mhz, sessions, is_new):
    """Removes the slope over the clock from rows whose clock varied between processes. The slope is fitted: a kernel may depend on its clock
    only in part."""
    known = ~(np.isnan(mhz) & ~np.isnan(logs)).any(axis=1)
    varied = np.zeros(len(logs), bool)
    varied[known] = np.nanstd(np.log(mhz[known]), axis=1) > statistics.CLOCK_STEADY
    varied[varied] = ~clocks_differ(mhz[varied], is_new)
    result = logs.copy()
    if varied.any():
        clock = centred(np.log(mhz[varied]), sessions)
        result[varied] -= slope(clock, logs[varied])[:, None] * clock
    return result


def clocks_differ(mhz, is_new):
    """Do the clocks of the sides differ beyond chance? By Mann and Whitney's rank test, in its normal approximation."""
    base, new = mhz[:, ~is_new], mhz[:, is_new]
    changed = np.abs(np.log(quiet_median(new, 1) / quiet_median(base, 1))) > statistics.CLOCK_STEADY
    counts = [(~np.isnan(side)).sum(axis=1) for side in (base, new)]
    pairs = np.sign(new[:, None, :] - base[:, :, None])
    spread = np.sqrt(counts[0] * counts[1] * (counts[0] + counts[1] + 1) / 3)
    return changed & (np.abs(np.nansum(pairs, axis=(1, 2))) / spread > Z_CLOCK_CHANGED)


def slope(x, y):
    """Slope of log time over log clock, for each row: -1 follows the clock, 0 does not; up to 1, since the common factor may have removed too
    much. It is the slope that leaves the least squares around two levels: if the sides differ there are two, and the fit does not use
    which process has which."""
    found = np.zeros(len(x))
    there = ~np.isnan(y)
    for k in np.flatnonzero(there.sum(axis=1) > 3):
        left = np.sort(y[k, there[k]] - SLOPES[:, None] * x[k, there[k]], axis=1)
        found[k] = SLOPES[np.argmin(around_two_levels(left))]
    return found


def around_two_levels(ordered):
    """Least sum of squares of ordered numbers (last axis) around the means of a lower and an upper part."""
    count = ordered.shape[-1]
    lower, size = np.cumsum(ordered, axis=-1)[..., :-1], np.arange(1, count)
    upper = ordered.sum(axis=-1, keepdims=True) - lower
    return np.square(ordered).sum(axis=-1) - (np.square(lower) / size + np.square(upper) / (count - size)).max(axis=-1)
