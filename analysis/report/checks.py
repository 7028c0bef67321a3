"""Sections of the report on verification: accuracy, what failed, was skipped or not tested."""

import collections

from analysis import rows as r
from analysis.claim_text import is_shown
from analysis.format import details, folded, many, says_something, table
from analysis.report.ladder import VERDICT_ORDER, ratio


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
        return ratio(max(ratios, default=None)) + (f" (not judgeable: {', '.join(unjudged)})" if unjudged else "")
    return "error" if any(row["verdict"] == "error" for row in rows) else "-"


def accuracy_table(rows):
    families = sorted({row.get("input") for row in rows}, key=str)
    lines = []
    groups = r.grouped(rows, lambda row: (r.name_of(row), f" (`{row['bound']['name']}`)" if r.is_declared(row) else ""))
    for key, some in sorted(groups.items()):
        of = r.grouped(some, lambda row: row.get("input"))
        lines.append(["".join(key), *(accuracy_cell(of.get(family, ())) for family in families)])
    return table(["variant", *(f">{family}" for family in families)], lines)


def by_words(rows):
    """One group for each aggregate (or the like) that was tried on many inputs, the rest together: [(words, rows)]."""
    found = r.grouped(rows, word_params)
    wide = {words for words, some in found.items() if len({row["input"] for row in some}) >= 4}
    rest = [row for words, some in found.items() if words not in wide for row in some]
    groups = [(words, found[words]) for words in sorted(wide)]
    return groups + ([(", ".join(sorted({word_params(row) for row in rest})), rest)] if rest else [])


def accuracy(results):
    parts = []
    for op in sorted({row["op"] for row in results.rows}):
        for emulated in (False, True):
            for dtype in ("f64", "f32", "f16", "bf16", "e4m3", "e5m2", "i32", "i64"):
                mine = (row for row in results.rows if row["op"] == op and row.get("dtype") == dtype)
                rows = [row for row in mine if r.is_emulated(row) == emulated and row.get("errors")]
                for words, some in by_words(rows):
                    head = f"{op}{' ' * bool(words)}{words}, {dtype}{', emulated on the CPU' * emulated}"
                    parts.append(folded(head, accuracy_table(some), dtype == "f32" or emulated))
    if not parts:
        return "Nothing ran, so nothing was verified."
    how = (
        "One column per input family. Each number is the largest error over all cases (sizes, windows), as a multiple of the tolerance; at most 1 passes. "
        "Where a variant has its own, looser tolerance, that tolerance is named. *not judgeable*: outputs whose tolerance lets 0 pass for most elements; they are no part of the number. The reference is computed in better than double precision."
    )
    return "\n\n".join([how, *parts])


def each(rows, get):
    return ", ".join(sorted({str(get(row)) for row in rows} - {"", "None"}))


def naming(results):
    """Without the op where there is one only."""
    several = len({row["op"] for row in results.rows}) > 1
    return lambda spec: spec if several else spec.split("/", 1)[-1]


def failed(results):
    name = naming(results)
    groups = r.grouped(
        (row for row in results.rows if row["verdict"] in ("fail", "error")),
        lambda row: (row["verdict"], name(row["spec"]), r.is_emulated(row), bound_name(row)),
    )
    if not groups:
        return "Nothing failed."
    lines, reasons = [], []
    for key, rows in sorted(groups.items(), key=lambda item: (VERDICT_ORDER[item[0][0]], *map(str, item[0]))):
        verdict, spec, in_emulator, bound = key
        facts = [each(rows, get) for get in (word_params, lambda row: row.get("dtype"), lambda row: row.get("input"))]
        lines.append([verdict + " (emulated)" * in_emulator, spec, bound, len(rows), *facts])
        for words in sorted({word_params(row) for row in rows}):
            worst = max((row for row in rows if word_params(row) == words), key=lambda row: r.worst_ratio(row) or 0)
            reasons.append(
                f"- {', '.join(w for w in (spec, words) if w)} on {worst['input']}, {verdict}: {worst.get('reason') or 'no reason recorded'}<br>`{r.again(worst) if worst.get('draw') else worst['case']}`"
            )
    parts = [
        "Variants that fail verification are not timed. *bound*: what their outputs were verified against.",
        table(["verdict", "variant", "bound", ">cases", "of", "dtype", "inputs"], lines),
        details("the worst case of each: element, expected value, tolerance", "\n".join(reasons)),
    ]
    return "\n\n".join(parts)


def skipped(results):
    groups = r.grouped(
        (row for row in results.rows if row["verdict"] == "skip"),
        lambda row: (row["variant"], row.get("reason") or "no reason recorded"),
    )
    if not groups:
        return "Nothing was skipped."
    name = naming(results)
    return table(
        ["variant", ">cases", "reason"],
        [(name(variant), len(rows), reason) for (variant, reason), rows in sorted(groups.items())],
    )


# ---- What was not tested.


def limits(results, pairs):
    """Counts, as a list; reasons are on the pages of the ops."""
    outcomes = collections.Counter(c.get("outcome") for _, c in pairs if not is_shown(c))
    verdicts = collections.Counter(row["verdict"] for row in results.rows)
    emulated = sum(r.is_emulated(row) and row["verdict"] != "skip" for row in results.rows)
    vague = sorted(
        {f"{row['op']} {name}" for row in results.rows if row["verdict"] != "fail" for name in r.unjudged(row)}
    )
    why = " Reasons: on the pages of ops."
    said = (
        (
            outcomes["not_testable"] + outcomes["not_run"],
            f"{many(outcomes['not_testable'], 'test')} of statements cannot be made here, {outcomes['not_run']} were not run.{why}",
        ),
        (
            verdicts["skip"],
            f"{many(verdicts['skip'], 'row')} of {len(results.rows)} were skipped: unsupported, or too long.",
        ),
        (emulated, f"{many(emulated, 'row')} of CUDA kernels ran in the emulator: verified, not timed."),
        (vague, f"Not judgeable in some cases, where 0 would pass: {', '.join(vague)}."),
    )
    return "\n".join(f"- {text}" for some, text in said if some)
