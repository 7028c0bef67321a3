"""Entries for the exporters. One entry is one row in one mode that has times."""

import pathlib
import statistics
from dataclasses import dataclass

from analysis import rows as r
from analysis import select
from analysis.lines import BadResults, read_lines

NANO = 1e9  # what most consumers count in


@dataclass
class Entry:
    row: dict
    mode: str
    times: dict
    environment: dict

    @property
    def name(self):
        """The same text for the same measurement in every format that knows names only."""
        return f"{name_of(self.row)} | {self.mode}"


class Source:
    """rows: of every process, in order of date. latest: those that the report would show. out: --out; files: path -> bytes, what a format wants
    to lie beside it."""

    def __init__(self, paths, out=None):
        self.out, self.files = out, {}
        self.latest = select.load(paths)
        self.environments, self.warnings = self.latest.environments, self.latest.warnings
        found = [
            r.settle(line) for path in paths for line in read_lines(pathlib.Path(path), []) if line["kind"] == "row"
        ]
        self.rows = sorted(found, key=lambda row: self.environment(row).get("date") or "")

    def environment(self, row):
        return self.environments.get(row.get("run")) or {}

    def machine(self, row):
        return self.latest.machine(row)

    def entries(self, rows):
        """Only what was verified has times: what failed is never an entry, least of all one of 0 seconds."""
        return [
            Entry(row, mode, row["timing"][mode], self.environment(row))
            for row in rows
            if row["verdict"] == "pass"
            for mode in row.get("timing") or {}
            if r.timing(row, mode) and row["timing"][mode].get("samples")
        ]

    def one_machine(self, rows):
        """Entries for a format whose names say nothing of the machine."""
        found = self.entries(rows)
        machines = sorted({self.machine(entry.row) for entry in found})
        if len(machines) > 1:
            raise BadResults(
                f"rows of several machines ({', '.join(machines)}), and this format cannot tell them apart: export their files one by one"
            )
        return found


def name_of(row):
    bound = f" | {(row['bound'] or {}).get('name')} bound" if r.is_declared(row) else ""
    return f"{row['spec']} | {row['case']}{bound}"


def grouped(entries):
    """name -> its entries, one a process."""
    groups = {}
    for entry in entries:
        groups.setdefault(entry.name, []).append(entry)
    return groups


@dataclass
class Measurement:
    """One name in the latest build that has it: a median over its processes and how far these lie apart; of one process, its own interval."""

    entry: Entry  # of the latest process
    medians: list
    median: float
    low: float | None
    high: float | None

    @property
    def basis(self):
        count = len(self.medians)
        return (
            f"median of {count} processes"
            if count > 1
            else f"median of {len(self.entry.times['samples'])} samples of one process"
        )


def measurements(source):
    """For trackers, which take one number a name. The latest row says which measurements there are."""
    wanted = {entry.name for entry in source.one_machine(source.latest.rows)}
    made = []
    for name, entries in grouped(source.one_machine(source.rows)).items():
        if name not in wanted:
            continue
        latest = entries[-1]
        medians = [e.times["median"] for e in entries if build_of(e) == build_of(latest)]
        own = latest.times
        low, high = (own.get("low"), own.get("high")) if len(medians) == 1 else (min(medians), max(medians))
        made.append(Measurement(latest, medians, statistics.median(medians), low, high))
    return made


def build_of(entry):
    return entry.environment.get("commit"), bool(entry.environment.get("dirty"))
