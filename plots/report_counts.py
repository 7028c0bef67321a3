"""What one call takes beside time: launches, bytes of device memory, allocations, peak memory; what a source printed in brackets beside ours."""
import collections

import published
import rows as r
from markdown import details, table, without_empty
from words import seconds, significant, size

HOW = ("One call of each variant, counted from cold caches (docs/METHOD.md, \"Counts\"); times are those of the uncounted calls. *bytes / minimum*: what went through device memory, "
       "over what the op must read and write once; *allocations*: by the call, from `memory`; *peak*: the most that it held at once beside its inputs, without the heap of `malloc` in kernels.")


def printed_of(op, row):
    """Numbers that the source's text or table has of this row: {name: number}."""
    points, found = published.points(op), {}
    for point in points.lines if points else []:
        memory = (row.get("tunables") or {}).get("memory")
        if point.get("where") != "figure" and (point["variant"], point.get("rows"), point.get("memory")) == (r.name_of(row), r.number(row, "rows"), memory):
            found.update({name: value for name, value in point.items() if isinstance(value, float) and name != "rows"})
    return found


def over_minimum(row):
    counts = row.get("counts") or {}
    moved, least = [counts.get("bytes_read"), counts.get("bytes_written")], r.work_bytes(row)
    return sum(moved) / least if None not in moved and least else None


def beside(ours, theirs):
    """"27 (31)": ours, and in brackets what was printed."""
    return ours + (f" ({theirs})" if theirs not in (None, "-") else "")


def whole(value):
    return "-" if value is None else f"{value:,.0f}"


def line_of(op, row):
    counts, there = row["counts"], printed_of(op, row)
    cold, bytes_ = r.median(row), r.work_bytes(row)
    rate = significant(bytes_ / cold / 1e9) if cold and bytes_ else "-"
    there_rate = significant(bytes_ / there["ms"] / 1e6) if bytes_ and there.get("ms") else None
    return [r.spec_name(row), beside(seconds(cold), seconds(there["ms"] / 1e3) if there.get("ms") else None), beside(rate, there_rate),
            beside(whole(counts.get("launches")), whole(there["launches"]) if "launches" in there else None),
            beside(significant(over_minimum(row)), significant(there.get("bytes_over_minimum"))), whole(counts.get("allocations")), size(counts.get("peak_bytes"))]


def case_table(op, rows):
    rows = sorted(rows, key=lambda row: (r.median(row) or 1e9, row["spec"]))
    return table(*without_empty(["variant", ">cold", ">GB/s", ">launches", ">bytes / minimum", ">allocations", ">peak"], [line_of(op, row) for row in rows]))


def counts_of_op(op, rows, title):
    """The tables of the cases that the source printed numbers of, the one with most of them first; nothing for other ops."""
    points = published.points(op)
    if not points:
        return ""
    cases = collections.defaultdict(list)
    for row in rows:
        if row.get("counts"):
            cases[row["case"]].append(row)
    known = {case: sum(len(printed_of(op, row)) for row in some) for case, some in cases.items()}
    order = sorted((case for case in cases if known[case]), key=lambda case: -known[case])
    if not order:
        return ""
    there = f"In brackets: {points.said.get('source', 'the source')}, {points.said.get('hardware', 'unknown hardware')}."
    parts = [f"#### Launches, bytes and memory of a call\n\n{HOW} {there}"]
    for k, case in enumerate(order):
        text = case_table(op, cases[case])
        parts.append(f"**{title(cases[case][0])}**\n\n{text}" if k == 0 else details(title(cases[case][0]), text))
    return "\n\n".join(parts)
