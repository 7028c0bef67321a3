"""Rows that vary alike: kernels that follow a clock which others do not, a family, neighbours in time. Removes from each row what the rows
most like it have in common. The estimate does not know which process is of which side, so the times left are as exchangeable as those
that came in, and a rank test of them is as exact."""
import numpy as np

from analysis import statistics
from analysis.compare import common

COUNTS = (4, 8, 16, 32)  # of rows most alike: the median of so many is removed, of as many as leave a row steadiest
SHARE = 0.2              # of all rows: so many have to vary alike
GAIN = 0.75              # and so much more than rows whose processes were shuffled
SEED = 9                 # of the shuffle: the same rows give the same result
P_DOUBTED = 0.01         # of what was removed: it differs between the sides


def adjust(logs, sessions, kin):
    """logs: log times without the common factor, (rows, processes), NaN: not measured. kin: of each row, equal for those that are never
    compared with each other, the modes of one measurement. -> the same without what is alike, None where rows do not vary alike."""
    result, found = logs.copy(), False
    for session in np.unique(sessions):
        columns = np.flatnonzero(sessions == session)
        rows = np.flatnonzero(~np.isnan(logs[:, columns]).all(axis=1))
        if len(rows) < common.LEAST_ROWS:
            continue
        part = logs[np.ix_(rows, columns)]
        left, scatter = without_alike(part, kin[rows])
        result[np.ix_(rows, columns)] = left
        if 2 * len(rows) >= len(logs):  # rows that were chosen for a second stage are no sample of all rows
            _, by_chance = without_alike(np.random.default_rng(SEED).permuted(part, axis=1), kin[rows])
            found |= np.quantile(scatter, SHARE) <= GAIN * np.quantile(by_chance, SHARE)
    return result if found else None


def without_alike(logs, kin):
    """-> (rows without the median of those most alike, the share of their scatter that is left). Scatter is around two levels: a change
    between the sides is none, and a row that has changed finds the same others as one that has not."""
    apart = distances(logs, kin)
    order = np.argsort(apart, axis=1, kind="stable")[:, :max(COUNTS)]
    others = np.where(np.isfinite(np.take_along_axis(apart, order, 1))[..., None], logs[order], np.nan)
    tried = [logs] + [logs - np.nan_to_num(common.quiet_median(others[:, :count], 1)) for count in COUNTS]
    tried = np.stack([one - common.quiet_median(one, 1)[:, None] for one in tried])
    scatter = common.around_two_levels(tried)
    best, before = scatter.argmin(axis=0), scatter[0]
    return tried[best, np.arange(len(logs))], np.where(before > 0, scatter.min(axis=0) / np.where(before > 0, before, 1), 1)


def doubted(base, new, ratio):
    """removed[...] of the two sides, (rows, processes): did the rows alike change the other way, so that this one only seems to have changed?"""
    apart = np.log(statistics.medians(new) / statistics.medians(base))
    return (statistics.u_test(base, new) <= P_DOUBTED) & (apart * np.log(ratio) < 0)


def distances(logs, kin):
    """Between all rows: the mean square of what one has beyond the other."""
    found = np.full((len(logs), len(logs)), np.inf)
    for k in range(len(logs) - 1):
        apart = logs[k] - logs[k + 1:]
        count = (~np.isnan(apart)).sum(axis=1)
        near = common.around_two_levels(apart) / np.maximum(count, 1)
        found[k, k + 1:] = found[k + 1:, k] = np.where((2 * count < logs.shape[1]) | (kin[k] == kin[k + 1:]), np.inf, near)
    return found
