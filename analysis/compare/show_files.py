"""A comparison as JSON, Markdown and JUnit XML."""

import dataclasses
import json

from analysis import junit
from analysis.compare.outcome import ORDER, counts, fails, sort
from analysis.compare.show_table import finds, interval, repetitions, time
from analysis.foreign import markdown
from analysis.format import cell, change

SCHEMA = 1
HIDDEN = ("series", "same_code", "fails_strict", "share", "promising")
MARKS = {"wrong": "**wrong**", "slower": "**slower**", "missing": "**missing**", "not comparable": "**not comparable**"}


def as_json(comparisons, result):
    rows = [
        {k: v for k, v in dataclasses.asdict(dataclasses.replace(c, series=())).items() if k not in HIDDEN}
        for c in sort(comparisons)
    ]
    return (
        json.dumps(
            {"kind": "comparison", "schema": SCHEMA, **result, "counts": counts(comparisons), "comparisons": rows},
            indent=1,
            allow_nan=False,
        )
        + "\n"
    )


def as_markdown(comparisons, result):
    found = counts(comparisons)
    head = "### " + (
        "nothing was compared"
        if result["exit"] == 3
        else "regression gate: failed"
        if result["exit"]
        else "regression gate: passed"
    )
    lines = [
        *([markdown(result["not_in_turns"]), ""] if result["not_in_turns"] else []),
        head,
        "",
        ", ".join(f"{found[v]} {v}" for v in ORDER if found[v]) or "no comparisons",
        "",
    ]
    telling = [c for c in sort(comparisons) if c.verdict != "same" or c.reason]
    for title, rows in (
        ("", telling),
        ("unchanged", [c for c in sort(comparisons) if c.verdict == "same" and not c.reason]),
    ):
        if rows:
            lines += [f"<details><summary>{title} ({len(rows)})</summary>", ""] if title else []
            lines += [
                "| verdict | change | 95% interval | base | new | runs | finds | mode | variant | case | |",
                "|---|---:|---:|---:|---:|---:|---:|---|---|---|---|",
            ]
            lines += ["| " + " | ".join(map(cell, markdown_cells(c))) + " |" for c in rows]
            lines += ["", *(["</details>", ""] if title else [])]
    lines.append(
        f"base: {', '.join(result['base']['commits']) or 'unknown'}; new: {', '.join(result['new']['commits']) or 'unknown'}; "
        f"least effect {100 * result['min_effect']:.3g}%"
    )
    return "\n".join(lines + [f"note: {markdown(warning)}" for warning in result["warnings"]]) + "\n"


def markdown_cells(c):
    return (
        MARKS.get(c.verdict, c.verdict) + (" (allowed)" if c.allowed else ""),
        change(c.ratio),
        interval(c),
        time(c.base_seconds),
        time(c.new_seconds),
        repetitions(c),
        finds(c),
        c.mode or "all",
        f"`{markdown(c.spec)}`",
        f"`{markdown(c.case)}`",
        markdown(c.reason or ""),
    )


def as_junit(comparisons, result):
    """A case fails where it fails the gate; what is ambiguous, new or allowed is `skipped`, with its reason."""
    return junit.document("rungs compare", {"rungs compare": [junit_case(c) for c in sort(comparisons)]})


def junit_case(c):
    told = (
        f"{c.verdict}: {change(c.ratio)} ({interval(c)}), {time(c.base_seconds)} -> {time(c.new_seconds)}"
        if c.ratio
        else f"{c.verdict}: {c.reason or ''}"
    )
    case = junit.Case(classname=c.case, name=f"{c.spec} {c.mode or 'all'}", message=told)
    if fails(c):
        case.outcome, case.kind, case.text = "failure", c.verdict, c.reason or told
    elif c.verdict in ("ambiguous", "new", "no base") or c.allowed:
        case.outcome, case.message = "skipped", f"{told}; {c.reason}" if c.ratio and c.reason else told
    return case
