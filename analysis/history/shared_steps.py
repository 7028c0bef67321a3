"""Where times change: of one series, less what all series of its machine do at one commit (the machine changed, or what the variants share)."""

from dataclasses import dataclass

import numpy as np

from analysis.history import changes
from analysis.history.series import History
from analysis.statistics import steps

LEAST_SERIES = 10
ROUNDS = 4  # of Tukey's median polish


@dataclass
class Machine:
    """Of one kind of machine: the factor that its series have in common at each commit, and where it changes its level."""

    machine: tuple
    order: list
    factors: list
    bounds: list

    def steps(self):
        """[(index of the commit, new level / old level)]"""
        return steps(self.factors, self.bounds)


def marked(paths, repository):
    """-> (History, its series of two commits and more with their changes marked, the machines' common steps): for every page the same."""
    history = History(paths, repository)
    told = [s for s in history.series if len(s.points) >= 2]
    return history, told, find_changes(told, history.order)


def find_changes(series, order):
    """Fills in `bounds` and `common` of every series; -> a Machine for each kind of machine that has enough of them."""
    groups, found = {}, []
    for one in series:
        groups.setdefault(one.machine, []).append(one)
    for machine, group in groups.items():
        if len(group) >= LEAST_SERIES:
            found.append(common_of(machine, group, order))
        for one in group:
            values = np.array([p.seconds for p in one.points])
            one.bounds = changes.find(values / one.common if len(one.common) else values)
    return found


def common_of(machine, group, order):
    place = {commit: k for k, commit in enumerate(order)}
    logs = np.full((len(group), len(order)), np.nan)
    for i, one in enumerate(group):
        logs[i, [place[p.commit] for p in one.points]] = np.log([p.seconds for p in one.points])
    known = (~np.isnan(logs)).sum(axis=0) >= LEAST_SERIES
    logs = logs[:, known]
    there = ~np.isnan(logs).all(axis=1)
    common = polish(logs[there]) if known.any() else np.zeros(0)
    whole = np.zeros(len(order))
    whole[known] = common
    for one in group:
        one.common = np.exp(whole[[place[p.commit] for p in one.points]])
    commits = [commit for commit, there in zip(order, known) if there]
    return Machine(machine, commits, np.exp(common), changes.find(np.exp(common)))


def polish(logs):
    """The effect of each column, where rows have levels of their own and may lack columns."""
    columns = np.zeros(logs.shape[1])
    for _ in range(ROUNDS):
        rows = np.nanmedian(logs - columns, axis=1)
        columns = np.nanmedian(logs - rows[:, None], axis=0)
    return columns - np.median(columns)
