"""Rows that vary alike: kernels that follow a clock which others do not, a family, neighbours in time. Removes from each row what the rows
most like it have in common. The estimate does not know which process is of which side, so the times left are as exchangeable as those
that came in, and a rank test of them is as exact."""

import numpy as np

from analysis import statistics
from analysis.compare import common

COUNTS = (4, 8, 16, 32)  # of rows most alike: the median of so many is removed, of as many as leave a row steadiest
SHARE = 0.2  # of all rows: so many have to vary alike
GAIN = 0.75  # and so much more than rows whose processes were shuffled
SEED = 9  # of the shuffle: the same rows give the same result
P_DOUBTED = 0.01  # of what was removed: it differs between the sides
LED = 0.25  # share of a row's change, or of the least effect: removed factors that differ by more may be what changed


def adjust(logs, sessions, kin):
    """logs: log times without the common factor, (rows, processes), NaN: not measured. kin: of each row, equal for those that are never
    compared with each other, the modes of one measurement. -> (the same without what is alike, None where rows do not vary alike;
    used[row, other]: is the other one of those most like the row)."""
    result, used, found = logs.copy(), np.zeros((len(logs), len(logs)), bool), False
    for session in np.unique(sessions):
        columns = np.flatnonzero(sessions == session)
        rows = np.flatnonzero(~np.isnan(logs[:, columns]).all(axis=1))
        if len(rows) < common.LEAST_ROWS:
            continue
        part = logs[np.ix_(rows, columns)]
        left, scatter, others = without_alike(part, kin[rows])
        result[np.ix_(rows, columns)] = left
        used[np.ix_(rows, rows)] |= others
        if 2 * len(rows) >= len(logs):  # rows that were chosen for a second stage are no sample of all rows
            _, by_chance, _ = without_alike(np.random.default_rng(SEED).permuted(part, axis=1), kin[rows])
            found |= np.quantile(scatter, SHARE) <= GAIN * np.quantile(by_chance, SHARE)
    return (result if found else None), used


def without_alike(logs, kin):
    """-> (rows without the median of those most alike, the share of their scatter that is left, used[row, other]). Scatter is around two
    levels: a change between the sides is none, and a row that has changed finds the same others as one that has not."""
    apart = distances(logs, kin)
    order = np.argsort(apart, axis=1, kind="stable")
    near = order[:, : max(COUNTS)]
    others = np.where(np.isfinite(np.take_along_axis(apart, near, 1))[..., None], logs[near], np.nan)
    tried = [logs] + [logs - np.nan_to_num(common.quiet_median(others[:, :count], 1)) for count in COUNTS]
    tried = np.stack([one - common.quiet_median(one, 1)[:, None] for one in tried])
    scatter = common.around_two_levels(tried)
    best, before = scatter.argmin(axis=0), scatter[0]
    used = np.isfinite(apart) & (np.argsort(order, axis=1) < np.array((0, *COUNTS))[best][:, None])
    return (
        tried[best, np.arange(len(logs))],
        np.where(before > 0, scatter.min(axis=0) / np.where(before > 0, before, 1), 1),
        used,
    )


def change(base, new):
    """NEW / BASE of the removed factors, for each row. base, new: (rows, processes)."""
    return statistics.medians(new) / statistics.medians(base)


def doubted(base, new, ratio):
    """Did the rows most alike change in the other direction? Then this row may only seem to have changed. base, new: the factors removed from
    it on the two sides, (rows, processes); ratio: NEW / BASE of the times that are left."""
    return (statistics.u_test(base, new) <= P_DOUBTED) & other_way(ratio, change(base, new))


def other_way(ratio, removed):
    return np.log(ratio) * np.log(removed) < 0


def misled(ratio, removed, changed, used, min_effect):
    """Rows whose adjusted ratio may show a change of other rows: one of the rows most alike has changed, and the ratio of the removed factors is
    at least LED of the row's own. ratio, removed: NEW / BASE of the adjusted times and of the removed factors. changed: is the row slower or
    faster by any test? used: of adjust()."""
    return (used & changed).any(axis=1) & (
        np.abs(np.log(removed)) >= LED * np.maximum(np.abs(np.log(ratio)), np.log1p(min_effect))
    )


def distances(logs, kin):
    """Between all rows: the mean square of what one has beyond the other."""
    found = np.full((len(logs), len(logs)), np.inf)
    for k in range(len(logs) - 1):
        apart = logs[k] - logs[k + 1 :]
        count = (~np.isnan(apart)).sum(axis=1)
        near = common.around_two_levels(apart) / np.maximum(count, 1)
        found[k, k + 1 :] = found[k + 1 :, k] = np.where(
            (2 * count < logs.shape[1]) | (kin[k] == kin[k + 1 :]), np.inf, near
        )
    return found
