"""Launches, bytes of device memory, registers, allocations and peak memory of one call; the source's printed numbers in brackets."""

import math

from analysis import published, why
from analysis import rows as r
from analysis.format import count, folded, percent, seconds, significant, size, table, without_empty

MOST_LINES = 12  # of one op
HEADING = "#### Launches, bytes and memory of a call"
WHAT = "One call of each variant with cold caches, [counted]({method}#counts) in a separate call, so timings are unaffected."
HOW = (
    "- *bytes over minimum*: DRAM traffic of one call over input read once and output written once; *kernels / cold*: sum of kernel durations in the "
    "counted call, over the cold median, so more than 100% where kernels overlap or the counted call was slower; *registers* and *occupancy*: of the kernel with the longest launch, by the "
    "compiler's numbers; *allocations*: by the call; *peak*: largest device memory besides its inputs, without the `malloc` heap of kernels"
)


def printed_of(op, row):
    """Numbers that the source's text or table has of this row: {name: number}."""
    points, found = published.points(op), {}
    mine = r.name_of(row), r.number(row, "rows"), (row.get("tunables") or {}).get("memory")
    for point in points.lines if points else []:
        if point.get("where") != "figure" and (point["variant"], point.get("rows"), point.get("memory")) == mine:
            found.update({name: value for name, value in point.items() if isinstance(value, float) and name != "rows"})
    return found


def over_minimum(row):
    counts = row.get("counts") or {}
    moved, least = [counts.get("bytes_read"), counts.get("bytes_written")], r.work_bytes(row)
    return sum(moved) / least if None not in moved and least else None


def beside(ours, theirs):
    """ "27 (31)": ours, and in brackets what was printed."""
    return ours + (f" ({theirs})" if theirs not in (None, "-") else "")


def whole(value):
    return "-" if value is None else f"{value:,.0f}"


def kernels_share(row):
    kernels, cold = row["counts"].get("kernel_seconds"), r.median(row)
    return kernels / cold if kernels is not None and cold else None


KERNEL_AND_MEMORY = [">kernels / cold", ">registers", ">occupancy", ">allocations", ">peak"]


def kernel_and_memory(row):
    counts = row["counts"]
    return [
        percent(kernels_share(row), 2),
        whole(counts.get("registers")),
        percent(counts.get("occupancy"), 3),
        whole(counts.get("allocations") or None),
        size(counts.get("peak_bytes")),
    ]


def line_beside_printed(op, row):
    there = printed_of(op, row)
    cold, bytes_ = r.median(row), r.work_bytes(row)
    rate = significant(bytes_ / cold / 1e9) if cold and bytes_ else "-"
    there_rate = significant(bytes_ / there["ms"] / 1e6) if bytes_ and there.get("ms") else None
    return [
        r.name_of(row["spec"]),
        beside(seconds(cold), seconds(there["ms"] / 1e3) if there.get("ms") else None),
        beside(rate, there_rate),
        beside(whole(row["counts"].get("launches")), whole(there["launches"]) if "launches" in there else None),
        beside(significant(over_minimum(row)), significant(there.get("bytes_over_minimum"))),
        *kernel_and_memory(row),
    ]


def fastest_first(rows):
    return sorted(rows, key=lambda row: (r.median(row) or math.inf, row["spec"]))


def tables_beside_printed(op, cases, title):
    """The tables of the cases that the source printed numbers of, the one with most of them first."""
    known = {case: sum(len(printed_of(op, row)) for row in rows) for case, rows in cases.items()}
    parts = []
    for case in sorted((case for case in cases if known[case]), key=lambda case: -known[case]):
        lines = [line_beside_printed(op, row) for row in fastest_first(cases[case])]
        header = ["variant", ">cold", ">GB/s", ">launches", ">bytes over minimum", *KERNEL_AND_MEMORY]
        parts.append(folded(title(cases[case][0]), table(*without_empty(header, lines)), bool(parts)))
    return parts


def rank(rows):
    """Sort key of a case: number of variants, then the gate's cases (made for counts), then bytes."""
    variants, of_gate = len({row["variant"] for row in rows}), str(rows[0].get("scenario")).startswith("gate/")
    return variants, of_gate, r.work_bytes(rows[0]) or 0


def chosen(cases):
    """Rows for one table: those of the first case, then variants that only other cases have; each variant once before one comes a second time with other tunables."""
    order = sorted(cases.values(), key=rank, reverse=True)
    once, again, seen = [], [], set()
    for rows in order:
        for row in fastest_first(rows):
            if row["variant"] not in seen:
                seen.add(row["variant"])
                once.append(row)
            elif rows is order[0]:
                again.append(row)
    return order[0][0], (once + again)[:MOST_LINES]


def what_differs(row, usual):
    """ "agg max, f32": what of a case is not as in the table's title."""
    mine, theirs = (dict(some.get("params") or {}) for some in (row, usual))
    words = [f"{key} {count(value)}" for key, value in mine.items() if value != theirs.get(key)]
    for key, before in (("dtype", ""), ("input", "input "), ("seed", "seed ")):
        if row.get(key) is not None and row[key] != usual.get(key):
            words.append(f"{before}{row[key]}")
    return ", ".join(words) or "-"


def compact_table(cases, title):
    usual, rows = chosen(cases)
    here, elsewhere = ([row for row in rows if (row["case"] == usual["case"]) == is_here] for is_here in (True, False))
    lines = [
        [
            r.name_of(row["spec"]),
            what_differs(row, usual),
            whole(row["counts"].get("launches")),
            significant(over_minimum(row)),
            *kernel_and_memory(row),
            why.sentence(row) or "-",
        ]
        for row in fastest_first(here) + elsewhere
    ]
    return f"**{title(usual)}**\n\n" + table(
        *without_empty(
            ["variant", "case", ">launches", ">bytes over minimum", *KERNEL_AND_MEMORY, "why not faster"], lines
        )
    )


def counts_of_op(op, rows, title, method):
    """What the source printed beside ours where it printed any, else one table; nothing where nothing was counted."""
    cases = r.grouped((row for row in rows if row.get("counts")), lambda row: row["case"])
    if not cases:
        return ""
    points, what = published.points(op), WHAT.format(method=method)
    parts = tables_beside_printed(op, cases, title) if points else []
    if parts:
        there = f"In brackets: {points.said.get('source', 'the source')}, {points.said.get('hardware', 'unknown hardware')}."
        return "\n\n".join([HEADING, f"{what} {there}", *parts])
    return "\n\n".join([HEADING, what, compact_table(cases, title)])
