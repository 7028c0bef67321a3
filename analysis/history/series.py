"""Rows of many runs -> for each machine, case, variant and mode its medians over commits."""

import math
import pathlib
import statistics
from dataclasses import dataclass, field

from analysis import rows as r
from analysis.history import commits
from analysis.lines import NoRows, read_lines
from analysis.statistics import steps

LARGE = ("timing", "errors", "counts", "launch", "code", "work")  # parts of a row that no series needs
MODES = ("cold", "hot", "graph")  # the first that a row has: one series for each variant on a case


@dataclass(slots=True)
class Point:
    """One commit: the medians of its processes."""

    commit: str
    seconds: float
    low: float
    high: float
    mhz: float | None
    processes: int


@dataclass
class Series:
    machine: tuple
    row: dict  # one of its rows, for names
    mode: str
    points: list = field(default_factory=list)
    bounds: list = field(default_factory=list)  # indices of points at which a new level begins
    common: list = field(default_factory=list)  # by point, the factor that the machine's series share; empty: not known

    @property
    def key(self):
        return self.machine, self.row["case"], self.row["spec"], self.mode, r.is_declared(self.row)

    def steps(self):
        """[(index of the point, new level / old level)], less what all series of the machine did."""
        common = self.common if len(self.common) else [1.0] * len(self.points)
        return steps([p.seconds / factor for p, factor in zip(self.points, common)], self.bounds)

    def biggest(self):
        """Logarithm of the largest step, 0 without one."""
        return max((abs(math.log(ratio)) for _, ratio in self.steps()), default=0.0)


class History:
    """series; order: commits from old to new; commits: what git knows of them; environments: for the footer of figures. Of a row only what a
    series needs is kept: many commits of many rows are far more than fits into memory. repository: the folder of the project."""

    def __init__(self, paths, repository):
        self.environments, self.warnings = {}, []
        groups, clocks = {}, {}
        for path in files(paths):
            for line in read_lines(path, self.warnings):
                if line["kind"] == "environment":
                    self.environments[line.get("run")] = line
                elif line["kind"] == "row":
                    take(line, groups, clocks)
        if not groups and not clocks:
            raise NoRows(f"{', '.join(map(str, paths))}: no rows")
        self.order, self.commits = in_order(self.environments.values(), commits.Repository(repository))
        self.clocks = clock_groups(self.environments, clocks)
        self.series = list(self.collect(groups))

    def collect(self, groups):
        """One series for each machine that has a group's rows. groups: what take() fills."""
        place = {commit: k for k, commit in enumerate(self.order)}
        machines = {}
        for key, (row, by_run) in groups.items():
            by_machine = {}
            for run, times in by_run.items():
                kind = run, r.device_of(row)
                if kind not in machines:
                    machine = r.kind_of_machine(self.environments.get(run), row)
                    machines[kind] = machine and tuple({**machine, **self.clocks.get(run, {})}.items())
                if machines[kind]:
                    commit = commit_of(self.environments[run])
                    by_machine.setdefault(machines[kind], {}).setdefault(commit, {})[run] = times
            for machine, by_commit in by_machine.items():
                commits_of_it = sorted(by_commit, key=place.get)
                series = Series(machine, {**row, "run": next(iter(by_commit[commits_of_it[-1]]))}, key[-1])
                series.points = [point(commit, list(by_commit[commit].values())) for commit in commits_of_it]
                yield series


def take(row, groups, clocks):
    """Adds a row: groups[what it is a row of] = (names, run -> (median, low, high, MHz)); clocks[run][device] = (a row's names, [MHz])."""
    mode = next((mode for mode in MODES if r.timing(row, mode)), None)
    names = r.with_defaults({key: value for key, value in row.items() if key not in LARGE})
    clocks.setdefault(row.get("run"), (names, []))
    if not mode:
        return
    times = r.timing(row, mode)
    known = [mhz for mhz in times.get("sm_mhz") or [] if mhz]
    mhz = statistics.median(known) if known else None
    if mhz:
        clocks[row["run"]][1].append(mhz)
    if row["verdict"] != "pass" or r.is_emulated(row):
        return
    if r.device_of(row) == "cuda" and row["backend"] == "peer":
        # which device it ran on
        names["timing"] = {name: {"clock": (timed or {}).get("clock")} for name, timed in row["timing"].items()}
    key = row["case"], names["spec"], r.is_declared(row), r.device_of(row), mode
    of_run = groups.setdefault(key, (names, {}))[1]
    of_run[row["run"]] = times["median"], times.get("low"), times.get("high"), mhz  # twice in a run: the later


def clock_groups(environments, clocks):
    """run -> {"sm_mhz": about what its clock was}, where runs on one kind of machine had clocks so far apart that they were set so:
    locked differently, of which an environment says nothing."""
    runs = {run: (r.kind_of_machine(environments.get(run), row), mhz) for run, (row, mhz) in clocks.items() if mhz}
    machines = {}
    for run, (machine, mhz) in runs.items():
        machines.setdefault(repr(machine), []).append((statistics.median(mhz), run))
    found = {}
    for known in machines.values():
        known.sort()
        groups = [[known[0]]]
        for before, one in zip(known, known[1:]):
            if math.log(one[0] / before[0]) > r.LOCKED_APART:
                groups.append([])
            groups[-1].append(one)
        for group in groups if len(groups) > 1 else ():
            about = round(statistics.median(mhz for mhz, _ in group), -1)
            found |= {run: {"sm_mhz": about} for _, run in group}
    return found


def files(paths):
    for path in map(pathlib.Path, paths):
        yield from sorted(path.glob("*.jsonl")) if path.is_dir() else [path]


def commit_of(e):
    """What was built, as people write it; with changes it is another thing than the commit."""
    return (e.get("commit") or "unknown")[:7] + ("+changes" if e.get("dirty") else "")


def in_order(environments, repository):
    """-> (names of what was built, from old to new; name -> its Commit, where git knows it). No commit stands before its ancestors. One with
    changes stands behind its commit; what git does not know behind the last commit that is older than its first run."""
    first, hashes = {}, {}
    for e in environments:
        name, date = commit_of(e), e.get("date") or ""
        first[name] = min(first.get(name, date), date)
        hashes[name] = e.get("commit") or ""
    found = repository.find(set(hashes.values()))
    known = {name: found[commit] for name, commit in hashes.items() if commit in found}
    ages = sorted((commit.seconds, commit.place) for commit in known.values())

    def place(name):
        date = commits.unix_time(first[name])
        if name in known:
            return known[name].place, "+" in name, date, name
        return max((place for seconds, place in ages if seconds <= date), default=-1), True, date, name

    return sorted(first, key=place), known


def point(commit, times):
    """times: (median, low, high, MHz) of each process."""
    medians, lows, highs, clocks = zip(*times)
    known = [mhz for mhz in clocks if mhz]
    one = len(times) == 1
    low, high = (one and lows[0]) or min(medians), (one and highs[0]) or max(medians)
    mhz = statistics.median(known) if known else None
    return Point(commit, statistics.median(medians), low, high, mhz, len(times))
