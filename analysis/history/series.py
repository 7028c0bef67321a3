"""Rows of many runs -> for each machine, case, variant and mode its medians over commits."""
import math
import pathlib
import statistics
from dataclasses import dataclass, field

from analysis import rows as r
from analysis.history import commits

MODES = ("cold", "hot", "graph")  # the first that a row has: one series for each variant on a case


@dataclass
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

    @property
    def key(self):
        return self.machine, self.row["case"], self.row["spec"], self.mode, r.is_declared(self.row)


class History:
    """series; order: commits from old to new; environments: for the footer of figures."""

    def __init__(self, paths):
        self.environments, self.warnings, rows = {}, [], []
        for path in files(paths):
            for line in r.read_lines(path, self.warnings):
                if line["kind"] == "environment":
                    self.environments[line.get("run")] = line
                elif line["kind"] == "row":
                    rows.append(line)
        if not rows:
            raise r.NoRows(f"{', '.join(map(str, paths))}: no rows")
        self.order = in_order(self.environments.values())
        self.clocks = clock_groups(self.environments, rows)
        self.series = list(self.collect(rows))

    def collect(self, rows):
        groups = {}
        for row in rows:
            e = self.environments.get(row.get("run"))
            machine = r.kind_of_machine(e, row)
            mode = next((mode for mode in MODES if r.timing(row, mode)), None)
            if row["verdict"] == "pass" and not r.is_emulated(row) and machine and mode:
                series = Series(tuple({**machine, **self.clocks.get(row.get("run"), {})}.items()), r.settle(row), mode)
                _, by_commit = groups.setdefault(series.key, (series, {}))
                by_commit.setdefault(commit_of(e), {})[row["run"]] = row  # the same row twice in a run: the later one
        for series, by_commit in groups.values():
            series.row = next(row for commit in reversed(self.order) for row in by_commit.get(commit, {}).values())  # of the latest commit
            series.points = [point(commit, list(by_commit[commit].values()), series.mode) for commit in self.order if commit in by_commit]
            yield series


def clock_groups(environments, rows):
    """run -> {"sm_mhz": about what its clock was}, where runs on one kind of machine had clocks so far apart that they were set so:
    locked differently, of which an environment says nothing."""
    runs = {}
    for row in rows:
        clocks = [mhz for mode in MODES if (t := r.timing(row, mode)) for mhz in t.get("sm_mhz") or [] if mhz]
        if clocks:
            runs.setdefault(row.get("run"), (r.kind_of_machine(environments.get(row.get("run")), row), []))[1].append(statistics.median(clocks))
    machines = {}
    for run, (machine, clocks) in runs.items():
        machines.setdefault(repr(machine), []).append((statistics.median(clocks), run))
    found = {}
    for known in machines.values():
        known.sort()
        groups = [[known[0]]]
        for before, one in zip(known, known[1:]):
            if math.log(one[0] / before[0]) > r.LOCKED_APART:
                groups.append([])
            groups[-1].append(one)
        if len(groups) > 1:
            found |= {run: {"sm_mhz": round(statistics.median(mhz for mhz, _ in group), -1)} for group in groups for _, run in group}
    return found


def files(paths):
    for path in map(pathlib.Path, paths):
        yield from sorted(path.glob("*.jsonl")) if path.is_dir() else [path]


def commit_of(e):
    """What was built, as people write it; with changes it is another thing than the commit."""
    return (e.get("commit") or "unknown")[:7] + ("+changes" if e.get("dirty") else "")


def in_order(environments):
    """By the date of the commit; by the date of its first run where git does not know it or it had changes."""
    first = {}
    for e in environments:
        commit, date = commit_of(e), e.get("date") or ""
        first[commit] = min(first.get(commit, date), date)
    known = commits.dates([c for c in first if "+" not in c and c != "unknown"])
    return sorted(first, key=lambda c: (known.get(c, commits.unix_time(first[c])), first[c]))


def point(commit, rows, mode):
    times = [r.timing(row, mode) for row in rows]
    medians = [t["median"] for t in times]
    clocks = [statistics.median(known) for t in times if (known := [mhz for mhz in t.get("sm_mhz") or [] if mhz])]
    one = times[0] if len(times) == 1 else {}
    return Point(commit, statistics.median(medians), one.get("low") or min(medians), one.get("high") or max(medians),
                 statistics.median(clocks) if clocks else None, len(rows))
