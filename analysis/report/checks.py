"""Sections of the report on verification: accuracy, what failed, was skipped or emulated, first calls."""

import collections

from analysis import rows as r
from analysis.format import details, says_something, seconds, table
from analysis.report.ladder import VERDICT_ORDER, ratio
from analysis.report.markers import pictures_of


def bound_name(row):
    bound = row.get("bound") or {}
    return (bound.get("name") or "-") + (" (declared)" if bound.get("declared") else "")


def word_params(row):
    return " ".join(str(v) for k, v in (row.get("params") or {}).items() if isinstance(v, str) and says_something(k, v))


def accuracy_cell(rows):
    """The worst ratio over all cases of the cell; **fail** if any is wrong, with the aggregates that are if others are right."""
    wrong = sorted({word_params(row) for row in rows if row["verdict"] == "fail"})
    right = {word_params(row) for row in rows if row["verdict"] == "pass"}
    ratios = [r.worst_ratio(row) for row in rows if row["verdict"] == "pass" and r.worst_ratio(row) is not None]
    if wrong:
        return "**fail**" + (f" {', '.join(wrong)}" if right - set(wrong) and all(wrong) else "")
    unjudged = sorted({name for row in rows if row["verdict"] != "fail" for name in r.unjudged(row)})
    if ratios or unjudged:
        return (ratio(max(ratios)) if ratios else "-") + (
            f" (not judgeable: {', '.join(unjudged)})" if unjudged else ""
        )
    return "error" if any(row["verdict"] == "error" for row in rows) else "-"


def accuracy_table(rows):
    families = sorted({row.get("input") for row in rows}, key=str)
    cells = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in rows:
        cells[r.name_of(row), f"`{row['bound']['name']}`" if r.is_declared(row) else ""][row.get("input")].append(row)
    names = {key: key[0] + (f" ({key[1]})" if key[1] else "") for key in cells}
    return table(
        ["variant", *(f">{f}" for f in families)],
        [[names[key], *(accuracy_cell(cells[key][f]) for f in families)] for key in sorted(cells)],
    )


def by_words(rows):
    """One group for each aggregate (or the like) that was tried on many inputs, the rest together: [(words, rows)]."""
    found = collections.defaultdict(list)
    for row in rows:
        found[word_params(row)].append(row)
    wide = {words for words, some in found.items() if len({row["input"] for row in some}) >= 4}
    rest = [row for words, some in found.items() if words not in wide for row in some]
    groups = [(words, found[words]) for words in sorted(wide)]
    return groups + ([(", ".join(sorted({word_params(row) for row in rest})), rest)] if rest else [])


def accuracy(results, pictures):
    parts = []
    for op in sorted({row["op"] for row in results.rows}):
        for emulated in (False, True):
            for dtype in ("f64", "f32", "i32", "i64"):
                rows = [
                    row
                    for row in results.rows
                    if row["op"] == op
                    and row.get("dtype") == dtype
                    and r.is_emulated(row) == emulated
                    and row.get("errors")
                ]
                for words, some in by_words(rows):
                    head = (
                        " ".join(word for word in (op, words) if word)
                        + f", {dtype}"
                        + (", emulated on the CPU" if emulated else "")
                    )
                    text = accuracy_table(some)
                    parts.append(details(head, text) if dtype == "f32" or emulated else f"**{head}**\n\n{text}")
    if not parts:
        return "Nothing ran, so nothing was verified."
    how = (
        "One column per input family. Each number is the largest error over all cases (sizes, windows), as a multiple of the tolerance; at most 1 passes. "
        "Where a variant has its own, looser tolerance, that tolerance is named. *not judgeable*: outputs whose tolerance lets 0 pass for most elements; they are no part of the number. The reference is computed in better than double precision."
    )
    return "\n\n".join([pictures_of(pictures, "inputs_", "offset_") or "", how, *parts])


def each(rows, get):
    return ", ".join(sorted({str(get(row)) for row in rows} - {"", "None"}))


def naming(results):
    """Without the op where there is one only."""
    return (
        (lambda spec: spec) if len({row["op"] for row in results.rows}) > 1 else (lambda spec: spec.split("/", 1)[-1])
    )


def failed(results):
    groups, name = collections.defaultdict(list), naming(results)
    for row in results.rows:
        if row["verdict"] in ("fail", "error"):
            groups[row["verdict"], name(row["spec"]), r.is_emulated(row), bound_name(row)].append(row)
    if not groups:
        return "Nothing failed."
    lines, reasons = [], []
    for key, rows in sorted(groups.items(), key=lambda item: (VERDICT_ORDER[item[0][0]], *map(str, item[0]))):
        verdict, spec, in_emulator, bound = key
        lines.append(
            (
                verdict + (" (emulated)" if in_emulator else ""),
                spec,
                bound,
                len(rows),
                each(rows, word_params),
                each(rows, lambda row: row.get("dtype")),
                each(rows, lambda row: row.get("input")),
            )
        )
        for words in sorted({word_params(row) for row in rows}):
            worst = max((row for row in rows if word_params(row) == words), key=lambda row: r.worst_ratio(row) or 0)
            reasons.append(
                f"- {', '.join(w for w in (spec, words) if w)} on {worst['input']}, {verdict}: {worst.get('reason') or 'no reason recorded'}<br>`{worst['case']}`"
            )
    return (
        "Variants that fail verification are not timed. *bound*: what their outputs were verified against.\n\n"
        + table(["verdict", "variant", "bound", ">cases", "of", "dtype", "inputs"], lines)
        + "\n\n"
        + details("the worst case of each: element, expected value, tolerance", "\n".join(reasons))
    )


def skipped(results):
    groups = collections.defaultdict(list)
    for row in results.rows:
        if row["verdict"] == "skip":
            groups[row["variant"], row.get("reason") or "no reason recorded"].append(row)
    if not groups:
        return "Nothing was skipped."
    name = naming(results)
    return table(
        ["variant", ">cases", "reason"],
        [(name(variant), len(rows), reason) for (variant, reason), rows in sorted(groups.items())],
    )


def emulated(results):
    groups = collections.defaultdict(list)
    for row in results.rows:
        if r.is_emulated(row):
            groups[row["spec"]].append(row)
    if not groups:
        return "Nothing was emulated."
    lines, name = [], naming(results)
    for spec, rows in sorted(groups.items()):
        verdicts = collections.Counter(row["verdict"] for row in rows)
        wrong = verdicts["fail"] + verdicts["error"]
        outcome = (
            "verified (emulated), not timed"
            if verdicts["pass"] and not wrong
            else "correct on some cases, not timed"
            if verdicts["pass"]
            else "not verified"
        )
        lines.append((name(spec), *(verdicts[v] for v in ("pass", "fail", "error", "skip")), outcome))
    how = "CUDA kernels compiled for the CPU and run in an emulator, in randomised order. This verifies their logic, not their speed."
    return how + "\n\n" + table(["variant", ">passed", ">failed", ">errors", ">skipped", ""], lines)


def startup(results):
    groups = collections.defaultdict(list)
    for row in results.rows:
        if r.timing(row, "first") or row.get("prepare_seconds") is not None or r.median(row, "enqueue"):
            groups[row["spec"]].append(row)
    if not groups:
        return "No first call was timed."

    def span(values):
        values = sorted(v for v in values if v is not None)
        return (
            "-"
            if not values
            else seconds(values[0])
            if len(values) == 1
            else f"{seconds(values[0])} to {seconds(values[-1])} ({len(values)})"
        )

    def extra(row):
        first, later = r.median(row, "first"), r.median(row)
        return max(first - later, 0) if first and later else None

    name = naming(results)
    lines = [
        (
            name(spec),
            span([extra(row) for row in rows]),
            span([row.get("prepare_seconds") for row in rows]),
            span([r.median(row, "enqueue") for row in rows]),
        )
        for spec, rows in sorted(groups.items())
    ]
    how = (
        "Smallest and largest over the cases (number of cases in brackets). *first call, extra*: host time of a process's first call until it completes, minus the cold median: loading, compiling, warming up; "
        "*preparation*: work done once per case before it, such as compiling a user's function; *enqueue*: host time until the call returns."
    )
    return how + "\n\n" + table(["variant", ">first call, extra", ">preparation", ">enqueue"], lines)
