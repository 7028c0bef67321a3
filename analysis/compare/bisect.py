"""rungs bisect: which commit after GOOD made a row slower? A comparison is ten processes of a commit beside ten of GOOD, in one random order; after
each every commit has a probability, and the next is made where they split in half. Started by harness/cli/builds.c."""

import json
import math
import pathlib
import runpy
import sys
import time

import numpy as np
from scipy import stats

from analysis.compare import ab, builds, decide
from analysis.compare.builds import GOOD, NOTHING, Failed, say
from analysis.compare.sides import Side, timed
from analysis.foreign import terminal
from analysis.format import change, many
from analysis.output import CHECK, MACHINE, End, ends, run

SURE = 0.95
OUTLIER = 2  # standard deviations: a process further from the middle of its side counts as that far
PATIENCE = 3  # times as many comparisons as a search without noise needs: then it is given up
SHOWN = 5


class Search:
    """Over commits 1 to `count`, of which the last is BAD; 0 is GOOD. One of them, as likely as any other, made it and those after it slower, by one
    factor that nobody knows, as the scatter from process to process."""

    def __init__(self, count):
        self.count, self.compared, self.left_out = count, [], set()

    def add(self, commit, good, other):
        """Logarithms of the times of processes."""
        good, other = clipped(good), clipped(other)
        within = sum(float(np.square(side - side.mean()).sum()) for side in (good, other))
        weight = 1 / (1 / len(good) + 1 / len(other))
        self.compared.append((commit, other.mean() - good.mean(), weight, within, len(good) + len(other) - 2))

    def posterior(self):
        """Of each commit 1 .. count, that it is the one; the factor and the scatter are integrated out."""
        if not self.compared:
            return np.full(self.count, 1 / self.count)
        commit, apart, weight, within, degrees = map(np.array, zip(*self.compared, strict=True))
        logs = np.empty(self.count)
        for k in range(1, self.count + 1):
            slow = commit >= k
            if not slow.any():
                return np.full(self.count, 1 / self.count)  # BAD was not compared yet
            factor = np.average(apart[slow], weights=weight[slow])
            left = np.sum(weight * np.square(apart - np.where(slow, factor, 0)))
            freedom = degrees.sum() + len(apart) - 1
            logs[k - 1] = -freedom / 2 * math.log(within.sum() + left + 1e-300) - math.log(weight[slow].sum()) / 2
        chances = np.exp(logs - logs.max())
        return chances / chances.sum()

    def suspects(self):
        """(commits that no comparison can tell apart, of these the most probable; their probability): those between them were left out."""
        chances, groups = self.posterior(), [[]]
        for k in range(1, self.count + 1):
            groups[-1].append(k)
            if k not in self.left_out and k < self.count:
                groups.append([])
        sums = [sum(chances[k - 1] for k in group) for group in groups]
        return groups[int(np.argmax(sums))], max(sums)

    def next(self):
        """The commit to compare, at which the probabilities split best; None: there is none."""
        if not self.compared:
            return self.count
        is_slow = np.cumsum(self.posterior())
        open_ones = [k for k in range(1, self.count) if k not in self.left_out]
        return min(open_ones, key=lambda k: abs(is_slow[k - 1] - 0.5), default=None)

    def most(self):
        return PATIENCE * (2 + math.ceil(math.log2(self.count)))


def clipped(values):
    values = np.asarray(values, float)
    middle = np.median(values)
    reach = OUTLIER * 1.4826 * np.median(np.abs(values - middle))
    return np.clip(values, middle - reach, middle + reach) if reach > 0 else values


# ---- Commits and rows.


def history(only):
    """(GOOD, then the commits after it up to BAD; their subjects): the first parents of merges, whose commits a merge brought as one."""
    git, project = runpy.run_path(str(ab.HARNESS / "cmake/checkout.py")), only["project"]
    ends_of = [git["commit"](project, only[name]) for name in ("good", "bad")]
    if None in ends_of:
        raise End(f"'{terminal((only['good'], only['bad'])[ends_of.index(None)])}' is not a commit of this repository")
    told = git["ask"](
        project, "log", "--first-parent", "--reverse", "--format=%H %P%x09%s", f"{ends_of[0]}..{ends_of[1]}"
    )
    lines = [line.partition("\t") for line in (told or "").splitlines()]
    if not lines or ends_of[0] not in lines[0][0].split():
        raise End(
            f"{terminal(only['good'])} is no earlier commit on the line of {terminal(only['bad'])} (first parents)"
        )
    subjects = {line[0].split()[0]: line[2] for line in lines}
    return [ends_of[0], *subjects], subjects


def times_of(path):
    """(key of a row, mode) -> the logarithms of the medians of its processes."""
    found = {}
    for key, rows in Side(path).rows.items():
        for row in rows.values():
            for mode in (row.get("timing") or {}) if row["verdict"] == "pass" else ():
                if mode != "first" and timed(row, mode):
                    found.setdefault((key, mode), []).append(math.log(row["timing"][mode]["median"]))
    return found


def slowest(good, bad):
    """The row that BAD is slower in beyond chance, most clearly; None: there is none. Chance is told by ranks, which are exact in a random order."""
    both = [name for name in good.keys() & bad.keys() if min(len(good[name]), len(bad[name])) > 2]
    found = {}
    for name in both:
        sides = clipped(good[name]), clipped(bad[name])
        test = stats.mannwhitneyu(bad[name], good[name], alternative="greater")
        if test.pvalue * len(both) < decide.ALPHA:
            found[name] = stats.ttest_ind(*reversed(sides)).statistic
    return max(found, key=found.get, default=None)


class Comparisons:
    """Of commits with GOOD, each with a folder of its own for its rows."""

    def __init__(self, only, given, commits):
        self.only, self.given, self.commits, self.row = only, given, commits, None
        self.scenarios = builds.scenarios_of(only["project"], given["word"])
        self.good, self.made = ab.built(only, "base", commits[0]), 0

    def make(self, commit):
        """(times of GOOD, times of the commit) by row. Failed with the code CHECK: it does not compile, or does not start."""
        program = ab.built(self.only, "new", self.commits[commit])
        self.made += 1
        folder = pathlib.Path(self.only["folder"]) / f"{self.made:02}-{self.commits[commit][:12]}"
        folder.mkdir(parents=True, exist_ok=True)
        files = [str(folder / f"{side}.jsonl") for side in ab.SIDES]
        sides = [
            ab.started(side, True, program, out, self.scenarios, self.given)
            for side, program, out in zip(ab.SIDES, (self.good, program), files, strict=True)
        ]
        for side in sides:
            if self.row:
                side.options["variants"] = self.row[0][1]
        seed = int(self.only["seed"]) + self.made
        ab.Order(sides, json.loads(self.only["facts"]), seed, stages=1).run(int(self.only["repetitions"]), stage=1)
        return [times_of(path) for path in files]


@ends
def main():
    builds.catch_signals()
    given = builds.given_by(sys.argv[1:])
    only = {name: values[0] for name, values in given.items()}
    if "lock" in given:
        builds.wait_for_lock(only["lock"])
    try:
        return bisect(only, given)
    except builds.Interrupted:
        return MACHINE


def bisect(only, given):
    """-> exit code."""
    commits, subjects = history(only)
    place = pathlib.Path(only["folder"])
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise End(
            f"--out {terminal(place)}: is there; rows of another search are no repetitions of this one: name a new folder"
        )
    search, comparisons = Search(len(commits) - 1), Comparisons(only, given, commits)
    began, longest, budget, why = time.monotonic(), 0, float(only["budget"]), ""
    while (commit := search.next()) is not None and (not search.compared or search.suspects()[1] < SURE):
        since = time.monotonic()
        if budget and since + longest > began + budget:
            why = "the budget is spent"
        elif comparisons.made >= search.most():
            why = "more comparisons would not tell"
        if why:
            break
        name = commits[commit][:12]
        between = many(search.count - 1, "commit")
        say(f"rungs bisect: {name}, {between} between GOOD and BAD, comparison {comparisons.made + 1}")
        try:
            good, other = comparisons.make(commit)
        except Failed as error:
            if error.code != CHECK or not comparisons.row:
                raise Failed(str(error)) from error
            say(f"rungs bisect: {name} is left out: {terminal(str(error).splitlines()[0])}")
            search.left_out.add(commit)
            continue
        comparisons.row = comparisons.row or slowest(good, other)
        if not comparisons.row:
            why = (
                "BAD is slower than GOOD in no row, beyond chance"
                if good.keys() & other.keys()
                else "no row was timed in both"
            )
            print(f"{why}; there is nothing to find\nrows: {only['folder']}")
            return NOTHING
        if min(len(times.get(comparisons.row, ())) for times in (good, other)) < 3:
            say(f"rungs bisect: {name} is left out: it has no times of the row")
            search.left_out.add(commit)
            continue
        search.add(commit, good[comparisons.row], other[comparisons.row])
        longest = max(longest, time.monotonic() - since)
    return tell(search, comparisons, commits, subjects, why)


def tell(search, comparisons, commits, subjects, why):
    """-> exit code."""
    (case, spec, *_), mode = comparisons.row
    group, sure = search.suspects()
    chances = search.posterior()
    slow = [apart for commit, apart, *_ in search.compared if commit >= group[-1]]
    print(f"slower: {terminal(spec)} {mode} | {terminal(case)}: {change(math.exp(float(np.mean(slow))))}")
    if sure >= SURE:
        print(f"made slower by {'one of these' if len(group) > 1 else 'this commit'} ({100 * sure:.3g}%):")
    else:
        print(f"not sure ({why or 'what is left to compare does not build'}); the most probable:")
        group = sorted(range(1, search.count + 1), key=lambda k: -chances[k - 1])[:SHOWN]
    for k in group:
        left_out = "  (left out)" if k in search.left_out else ""
        print(f"  {100 * chances[k - 1]:5.1f}%  {commits[k][:12]}  {terminal(subjects[commits[k]])}{left_out}")
    print(f"rows: {comparisons.only['folder']}")
    return GOOD if sure >= SURE else NOTHING


if __name__ == "__main__":
    sys.exit(run(main))
