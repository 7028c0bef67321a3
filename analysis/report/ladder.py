"""The ladder: the published cases in full, sweeps as one compact table per group, whatever is left folded."""

import collections
import math

from analysis import rows as r
from analysis import select
from analysis.format import (
    count,
    describe,
    details,
    percent,
    rate,
    seconds,
    seconds_between,
    significant,
    table,
    without_empty,
)
from analysis.report import counts
from analysis.report.markers import pictures_of

VERDICT_ORDER = {"pass": 0, "fail": 1, "error": 2, "skip": 3}


def ratio(value):
    if value is None:
        return "-"
    return "not comparable" if math.isinf(value) else "0" if value == 0 else f"{value:.2g}"


def with_interval(row, mode, digits=4):
    timed = r.timing(row, mode)
    return seconds_between(timed["median"], timed.get("low"), timed.get("high"), digits) if timed else "-"


def baseline_of(results, rows):
    """Of a table, whose rows may come from suites with a baseline each: the one that most of them have."""
    found = collections.Counter(
        spec for spec in (results.baseline_spec(row) or row.get("baseline") for row in rows) if spec
    )
    return min(found, key=lambda spec: (-found[spec], spec), default=None)


def speedup_text(results, row, spec):
    """With the widest interval that the two medians' intervals allow."""
    value = results.speedup(row, over=spec) if spec else None
    if value is None:
        return "-"
    if spec == row["spec"]:
        return "1 (baseline)"
    base, mine = results.time_of(row, spec), r.timing(row, "cold")
    if None in (base.get("low"), base.get("high"), mine.get("low"), mine.get("high")):
        return f"{significant(value)}x"
    return f"{significant(value)}x ({significant(base['low'] / mine['high'])} to {significant(base['high'] / mine['low'])})"


def error_text(row):
    found = ratio(r.worst_ratio(row))
    return (
        f"{found} of `{row['bound']['name']}`"
        if found != "-" and row.get("bound") and (r.is_declared(row) or row["verdict"] == "fail")
        else found
    )


def case_table(results, rows):
    lines, baseline = [], baseline_of(results, rows)
    for row in sorted(
        rows, key=lambda row: (VERDICT_ORDER.get(row["verdict"], 9), r.median(row) or math.inf, row["spec"])
    ):
        if row["verdict"] == "skip":
            continue
        share, size, cold = results.fraction(row), r.work_bytes(row), r.median(row)
        verdict = r.verdict_words(row) + (
            f", not timed: {row.get('why_not_timed') or 'reason unknown'}"
            if row["verdict"] == "pass" and not cold
            else ""
        )
        lines.append(
            (
                r.spec_name(row),
                with_interval(row, "cold"),
                seconds(r.median(row, "hot"), 4),
                seconds(r.median(row, "graph"), 4),
                rate(size / cold).replace(" GB/s", "") if size and cold else "-",
                percent(share) + (" **(!)**" if share and share > 1 else ""),
                speedup_text(results, row, baseline),
                error_text(row),
                verdict,
            )
        )
    against = f">over {r.name_of(baseline)}" if baseline else ">speed-up"
    text = table(
        *without_empty(
            [
                "variant",
                ">cold (95% interval)",
                ">hot",
                ">graph",
                ">GB/s",
                f">of {r.limit_name(rows[0])}",
                against,
                ">error / bound",
                "verdict",
            ],
            lines,
        )
    )
    skipped = sorted({r.spec_name(row) for row in rows if row["verdict"] == "skip"})
    return text + (f"\n\nSkipped: {', '.join(skipped)}." if skipped else "")


def heading(swept):
    return " x ".join(swept)


def value_words(values):
    return " x ".join(count(v) for v in values)


def sweep_label(row):
    return r.spec_name(row) + (f" (`{row['bound']['name']}`)" if r.is_declared(row) else "")


def sweep_cell(results, row, mode):
    if row is None:
        return "-"
    if not r.median(row, mode):
        return "**fail**" if row["verdict"] == "fail" else "-" if row["verdict"] == "pass" else row["verdict"]
    share = results.fraction(row, mode)
    return (
        seconds(r.median(row, mode))
        + (f", {percent(share, 2)}" if share else "")
        + (" **(!)**" if share and share > 1 else "")
    )


def sweep_table(results, rows, swept, mode="cold"):
    """Variant against what is swept: median and share of the ceiling; fastest at the largest value first. A row that only verified takes no
    time's place, and a value at which nothing was timed no column."""
    values = sorted({select.value_of(row, swept) for row in rows if r.median(row, mode)})
    cells = collections.defaultdict(dict)
    for row in sorted(rows, key=lambda row: bool(r.median(row, mode))):
        cells[sweep_label(row)][select.value_of(row, swept)] = row

    def order(label):
        return [
            r.median(cells[label][v], mode) or math.inf if v in cells[label] else math.inf for v in reversed(values)
        ]

    lines = [
        [label, *(sweep_cell(results, cells[label].get(v), mode) for v in values)]
        for label in sorted(cells, key=lambda label: (order(label), label))
    ]
    short = {"window": "w = "}.get(swept[0], f"{swept[0]} = ") if len(swept) == 1 else ""
    return table(
        ["variant", *(f">{short}{value_words(v)}" for v in values)],
        [line for line in lines if any(cell not in ("-", "skip") for cell in line[1:])],
    )


def widest_interval(rows, swept, mode="cold"):
    found = []
    for row in rows:
        timed = r.timing(row, mode)
        if timed and timed.get("low") and timed.get("high"):
            found.append(
                (
                    max(timed["high"] / timed["median"] - 1, 1 - timed["low"] / timed["median"]),
                    r.spec_name(row),
                    select.value_of(row, swept),
                )
            )
    if not found:
        return ""
    found.sort(key=lambda item: item[0])
    widest, spec, value = found[-1]
    return (
        f"95% intervals of these {len(found)} medians: half of them within ±{percent(found[len(found) // 2][0])}, "
        f"the widest ±{percent(widest)} ({spec}, {heading(swept)} = {value_words(value)})."
    )


def sweep_text(results, rows, swept):
    text = sweep_table(results, rows, swept) + "\n\n" + widest_interval(rows, swept)
    if any(r.median(row, "hot") for row in rows):
        text += "\n\n" + details(
            "the same, hot",
            sweep_table(
                results, [row for row in rows if r.median(row, "hot") or row["verdict"] != "pass"], swept, "hot"
            ),
        )
    return text


def sweeps_part(results, sweeps, swept, shown):
    """A heading, the first table open, the others folded; their cases are shown then."""
    parts = [
        f"#### Time against {heading(swept)}\n\nMedian of cold calls, and the share of the {r.limit_name(sweeps[0][0], ' peak')}."
    ]
    for k, group in enumerate(sweeps):
        text = sweep_text(results, group, swept)
        parts.append(f"**{title(group[0], *swept)}**\n\n{text}" if k == 0 else details(title(group[0], *swept), text))
        shown |= {row["case"] for row in group if r.median(row)}
    return parts


def title(row, *left_out):
    return f"{describe(row, *left_out)}, input {row.get('input')}"


def input_table(results, rows):
    """Variant against input: cold medians."""
    families = sorted({row["input"] for row in rows})
    cells = collections.defaultdict(dict)
    for row in rows:
        text = (
            "**fail**"
            if row["verdict"] == "fail"
            else seconds(r.median(row))
            if r.median(row)
            else "-"
            if row["verdict"] == "pass"
            else row["verdict"]
        )
        cells[sweep_label(row)][row["input"]] = text + (" **(!)**" if (results.fraction(row) or 0) > 1 else "")
    lines = [[label, *(cells[label].get(f, "-") for f in families)] for label in sorted(cells)]
    return table(
        ["variant", *(f">{f}" for f in families)],
        [line for line in lines if any(cell not in ("-", "skip") for cell in line[1:])],
    )


def ladder_of_op(results, rows, links):
    claimed = {c.get("case") for c in results.claims}
    cases = select.by_case(rows)
    order = sorted((case for case in cases if case in claimed), key=lambda case: -len(cases[case]))
    shown, parts = set(order), []
    for k, case in enumerate(order):
        body = f"`{case}`\n\n{case_table(results, cases[case])}"
        parts.append(f"**{title(cases[case][0])}**\n\n{body}" if k == 0 else details(title(cases[case][0]), body))
    if order:
        parts.insert(0, "#### Cases of published claims")
    parameter, sweeps = select.find_sweeps(rows)
    if sweeps:
        sweeps.sort(
            key=lambda group: (
                "mean" not in str(group[0]["params"].get("agg")),
                group[0]["dtype"] != "f64",
                -len(group),
            )
        )
        sweeps.sort(key=lambda group: -max(r.number(row, "n") or 0 for row in group) if parameter != "n" else 0)
        parts += sweeps_part(results, sweeps, (parameter,), shown)
    shapes = select.find_shapes(rows, shown)
    if shapes:
        shapes.sort(key=lambda group: -sum(bool(r.median(row)) for row in group))
        parts += sweeps_part(results, shapes, select.SHAPE, shown)
    counted = counts.counts_of_op(rows[0]["op"], rows, title, links["method"])
    parts += [counted] if counted else []
    groups = [[row for row in group if row["case"] not in shown] for group in select.by_input(rows)]
    if groups:
        parts.append(
            "#### Time on many inputs\n\nMedian of cold calls; the errors of the same rows are under Accuracy. **fail**: failed verification, not timed."
        )
    for group in groups:
        parts.append(details(describe(group[0]), input_table(results, group)))
        shown |= {row["case"] for row in group}
    rest = [
        details(title(group[0]), f"`{case}`\n\n{case_table(results, group)}")
        for case, group in cases.items()
        if case not in shown
    ]
    return "\n\n".join(parts + (["#### Other cases"] if parts and rest else []) + rest)


def ladder(results, pictures, why_none, links):
    parts = []
    for machine in dict.fromkeys(results.machine(row) for row in results.rows):
        for op in sorted({row["op"] for row in results.rows}):
            rows = [
                row
                for row in results.rows
                if row["op"] == op and results.machine(row) == machine and not r.is_emulated(row)
            ]
            if any(r.median(row) for row in rows):
                parts.append(f"### {machine}\n\n{ladder_of_op(results, rows, links)}")
    if not parts:
        return "Nothing was timed."
    if any((results.fraction(row) or 0) > 1 for row in results.rows):
        parts.append(
            "**(!)** Above the measured peak: wrong byte count, data in cache, or a peak measured too low. Do not rely on it."
        )
    how = (
        "How to read the tables:\n\n"
        "- *cold*: median of single calls after a cache flush, with its 95% interval (fewer than 6 samples: observed range, which covers less); *hot*: warm L2, back to back; *graph*: a CUDA graph replayed back to back\n"
        "- *GB/s*: input and output counted once each, over the cold median, whatever the kernel moved; *of copy*: share of the measured copy peak of the same device in the same run (*of read*: of the read peak, where outputs are a negligible part of the bytes)\n"
        "- clocks: *cold*, *hot* and *graph* of CUDA variants, PyTorch, CuPy and Numba on CUDA are GPU time, host launch latency excluded; those of CPU variants, CPU libraries and JAX are host time (JAX: host launch latency included); *complete*, in the figure of published speed-ups, is host time for all\n"
        "- *over X*: how many times faster than X in the same case and campaign (one build on one card); empty where X was not timed there\n"
        "- *error / bound*: the largest error as a multiple of the tolerance; at most 1 passes. Where a variant has its own, looser tolerance, that tolerance is named "
        "(`textbook`, `prefix`, ...); the page of the op in `docs/ops/` has its formula"
    )
    if any(counts.HEADING in part for part in parts):
        how += "\n" + counts.HOW
    drawn = pictures_of(pictures, "ladder_", "sweep_") or why_none
    return "\n\n".join([drawn, how, *parts])
