"""Adjusts times: removes what all rows of a process have in common (temperature, other users, clocks) and what follows a row's SM clock.
Both are estimated without knowing which process is of which side, so adjusted times are as exchangeable as raw ones, and a rank test of
them is as exact."""

import numpy as np

from analysis import statistics

LEAST_ROWS = 10  # fewer rows estimate the common factor of a process poorly
Z_CLOCK_CHANGED = (
    2.58  # p = 0.01: the clocks of the sides differ beyond chance, so the build causes it, and wall time decides
)
SLOPES = np.linspace(-1, 1, 81)
MOST_APART = 1 / 3  # share of rows: where more differ from the rest, the rest is no reference


def adjust(logs, mhz, sessions, is_new):
    """logs: centred log times; mhz: clocks, both (rows, processes), NaN: not measured or not known. sessions: (processes,), equal for processes
    of one random order. -> (adjusted logs in the same shape; the common factor of each process without what follows the median clock of
    the rows, a logarithm, NaN where too few rows have it)."""
    factor = common_mode(
        without_clock(logs, mhz, sessions, is_new)
    )  # of what may follow clocks in some rows only, the middle would lie between
    left = without_clock(logs - np.nan_to_num(factor), mhz, sessions, is_new)
    return left, without_clock(factor[None], quiet_median(mhz, 0)[None], sessions, is_new)[0]


def centred(logs, sessions):
    """Subtracts the row's median in each session: sessions may lie days apart."""
    result = np.full_like(logs, np.nan)
    for session in np.unique(sessions):
        part = sessions == session
        result[:, part] = logs[:, part] - quiet_median(logs[:, part], 1)[:, None]
    return result


def quiet_median(values, axis):
    """NaN where there is none; NumPy's nanmedian takes ten times as long, and warns."""
    ordered = np.moveaxis(np.sort(values, axis=axis), axis, -1)
    count = (~np.isnan(ordered)).sum(axis=-1, keepdims=True)
    places = np.maximum((count - 1) // 2, 0), np.minimum(count // 2, ordered.shape[-1] - 1)
    return sum(np.take_along_axis(ordered, place, axis=-1)[..., 0] for place in places) / 2


def common_mode(logs):
    """The mean of the middle third of the rows, for each process: a median would jump where half of the rows go one way and half another.
    A process with fewer than half of the rows has none: rows that were chosen for a second stage are no sample of all rows."""
    rows = (~np.isnan(logs)).sum(axis=0)
    place = np.arange(len(logs))[:, None]
    middle = (place >= np.floor(rows * MOST_APART)) & (place < rows - np.floor(rows * MOST_APART))
    mean = np.where(middle, np.sort(logs, axis=0), 0).sum(axis=0) / np.maximum(1, middle.sum(axis=0))
    return np.where(rows >= max(LEAST_ROWS, len(logs) / 2), mean, np.nan)


def without_clock(logs, mhz, sessions, is_new):
    """Removes the slope over the clock from rows whose clock varied between processes. The slope is fitted: a kernel may depend on its clock
    only in part."""
    known = ~np.isnan(mhz).all(axis=1) & ~(np.isnan(mhz) & ~np.isnan(logs)).any(axis=1)
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
    found = [SLOPES[np.argmin(around_two_levels(times - SLOPES[:, None] * clock))] for clock, times in zip(x, y)]
    return np.where((~np.isnan(y)).sum(axis=1) > 3, found, 0.0)


def around_two_levels(values):
    """Least sum of squares of numbers (last axis; NaN: none) around the means of a lower and an upper part."""
    there = ~np.isnan(values)
    count = there.sum(axis=-1, keepdims=True)
    ordered = np.sort(values, axis=-1)
    if not there.all():
        ordered[np.isnan(ordered)] = 0
    lower, size = np.cumsum(ordered, axis=-1), np.arange(1, values.shape[-1])
    upper = lower[..., -1:] - lower[..., :-1]
    parts = np.square(lower[..., :-1]) / size + np.square(upper) / np.maximum(1, count - size)
    return np.square(ordered).sum(axis=-1) - np.where(size < count, parts, 0).max(axis=-1)
