"""Tables that a source printed: scenarios/published/<op>.csv.

Lines that begin with '#' say `key: value` (source, hardware, unit, params of the cases such as `input: uniform`); then a header: parameters of the op,
then variants that do what the source's columns did; then times. With `layout: points` a line is one variant at one size instead: where it was printed,
parameters, variant, tunables, and whatever numbers are known of it.
"""

import csv
import dataclasses
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "scenarios/published"
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


@dataclasses.dataclass
class Series:
    hardware: str
    source: str
    lines: dict  # variant -> [(value of the parameter, seconds)]


@dataclasses.dataclass
class Points:
    said: dict
    lines: list  # {"variant": text, "rows": number, ...}: what is empty is left out


def split(path):
    """(lines of comments, lines of the table)."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [line for line in lines if line.startswith("#")], [line for line in lines if not line.startswith("#")]


def comments(path):
    pairs = (line[1:].partition(":") for line in split(path)[0])
    return {key.strip(): value.strip() for key, _, value in pairs}


def number_or_text(value):
    try:
        return float(value)
    except ValueError:
        return value


def points(op):
    """What was printed of single variants and sizes; None if that is not how the op's source printed it."""
    path = FOLDER / f"{op}.csv"
    if not path.exists() or comments(path).get("layout") != "points":
        return None
    table = csv.DictReader(split(path)[1])
    lines = [{name: number_or_text(value) for name, value in line.items() if value} for line in table]
    return Points(comments(path), lines)


def series(op, parameter, row):
    """The published lines over this parameter, the others being as in the row; None if the source printed none."""
    path = FOLDER / f"{op}.csv"
    if not path.exists() or comments(path).get("layout") == "points":
        return None
    said, table, params = comments(path), csv.DictReader(split(path)[1]), row.get("params") or {}
    header = table.fieldnames
    keys = [name for name in header if name in params]
    if parameter not in keys or said.get("dtype", row.get("dtype")) != row.get("dtype"):
        return None
    scale, lines = UNITS[said["unit"]], {}
    for line in table:
        line = {name: float(value) for name, value in line.items() if value}
        if all(line.get(key) == params[key] for key in keys if key != parameter):
            for name in header:
                if name not in keys and name in line:
                    lines.setdefault(name, []).append((line[parameter], scale * line[name]))
    lines = {name: sorted(points) for name, points in lines.items() if len(points) > 2}
    return Series(said.get("hardware", "unknown hardware"), said.get("source", ""), lines) if lines else None
