"""Entries for the exporters. One entry is one row in one mode that has times."""

import pathlib
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
    """rows: of every process, in order of date. latest: those that the report would show."""

    def __init__(self, paths):
        self.latest = select.load(paths)
        self.environment, self.machine = self.latest.environment, self.latest.machine
        found = [
            r.with_defaults(line)
            for path in paths
            for line in read_lines(pathlib.Path(path), [])
            if line["kind"] == "row"
        ]
        self.rows = sorted(found, key=lambda row: self.environment(row).get("date") or "")

    def one_machine(self, rows):
        """Entries for a format whose names say nothing of the machine. Only what was verified has times: what failed is never an entry, least of all
        one of 0 seconds."""
        found = [
            Entry(row, mode, row["timing"][mode], self.environment(row))
            for row in rows
            if row["verdict"] == "pass"
            for mode in row.get("timing") or {}
            if r.timing(row, mode) and row["timing"][mode].get("samples")
        ]
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
    return r.grouped(entries, lambda entry: entry.name)
