"""Which values of its tunables make a variant fastest, and by how much: rows of one case and variant whose tunables differ in numbers."""

import collections

from analysis import rows as r
from analysis.format import percent, table
from analysis.report import standing
from analysis.report.ladder import with_interval

MODE = "cold"
HOW = (
    "Rows of one case and variant that differ in tunables; those that are words (`memory=pool`) say what is done, and are not compared. *default*: the values that most rows have, among equals the first of the file. "
    "*faster*: how much less time the best takes; in bold where the intervals do not overlap, so that another default is worth trying."
)


def is_number(value):
    return not isinstance(value, str) or value.isdigit() or value == "auto"


def tuned(results):
    """The timed rows of each campaign, case, variant, bound and words of tunables, in the order of the file, where there are several: their specs differ."""
    found = collections.defaultdict(list)
    for row in results.rows:
        if row["verdict"] == "pass" and r.median(row, MODE):
            words = tuple(
                sorted((key, value) for key, value in (row.get("tunables") or {}).items() if not is_number(value))
            )
            found[results.campaign(row), row["case"], row["variant"], r.is_declared(row), words].append(row)
    return [rows for rows in found.values() if len(rows) > 1]


def values_of(row, rows):
    """ "threads=128": the tunables in which the rows differ; the whole spec of an older row, which lacks those."""
    mine = row.get("tunables") or {}
    return " ".join(
        f"{key}={value}"
        for key, value in mine.items()
        if any((other.get("tunables") or {}).get(key) != value for other in rows)
    ) or r.spec_name(row)


def line(results, rows):
    usual = max(rows, key=lambda row: results.held[row["spec"]])  # the first of equals
    best = min(rows, key=lambda row: r.median(row, MODE))
    head = [
        r.name_of(best),
        standing.case_words(best),
        len(rows),
        values_of(usual, rows),
        with_interval(usual, MODE, 3),
    ]
    if best is usual:
        return [*head, "the default", "-", "-"]
    low, high = r.timing(usual, MODE).get("low"), r.timing(best, MODE).get("high")
    gain = percent(1 - r.median(best, MODE) / r.median(usual, MODE))
    return [
        *head,
        values_of(best, rows),
        with_interval(best, MODE, 3),
        f"**{gain}**" if low and high and high < low else gain,
    ]


def tuning(results):
    """Nothing where no variant was timed with several values."""
    lines = [line(results, rows) for rows in tuned(results)]
    if not lines:
        return ""
    return (
        HOW
        + "\n\n"
        + table(["variant", "case", ">values", "default", ">its time", "best", ">its time", ">faster"], lines)
    )
