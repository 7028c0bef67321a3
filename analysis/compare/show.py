"""The result of a whole comparison: what fails the gate, the exit code; as a table for the terminal, as JSON, Markdown and JUnit XML."""

import dataclasses
import json
from fnmatch import fnmatchcase

from analysis import junit
from analysis.foreign import markdown, terminal
from analysis.format import change, details, many, seconds
from analysis.format import table as markdown_table
from analysis.rows import grouped

ORDER = ("wrong", "slower", "missing", "not comparable", "ambiguous", "faster", "new", "no base", "same")
FAILING = ("wrong", "slower", "missing", "not comparable")
STATISTICAL = ("slower", "faster", "same", "ambiguous")
GOOD, CHECK, USAGE, NOTHING, MACHINE = 0, 1, 2, 3, 4


def allow(comparisons, globs):
    """--allow-missing: marks what is missing or not comparable as allowed, by the name of the variant, its spec or its case."""
    for c in comparisons:
        if c.verdict in ("missing", "not comparable"):
            names = (c.spec, c.spec.split()[0], c.spec.split()[0].split("/", 1)[-1], c.case)
            c.allowed = any(fnmatchcase(name, glob) for glob in globs for name in names)


def be_strict(comparisons, strict):
    """--strict: an ambiguous comparison fails if its whole interval lies beyond the minimum effect."""
    for c in comparisons:
        c.fails_strict = strict and c.beyond


def fails(c):
    return (c.verdict in FAILING or c.fails_strict) and not c.allowed


def counts_text(comparisons):
    found = counts(comparisons)
    return ", ".join(f"{found[v]} {v}" for v in ORDER if found[v])


def counts(comparisons):
    return {verdict: sum(c.verdict == verdict for c in comparisons) for verdict in ORDER}


def not_detectable(comparisons, wanted):
    """Rows in which a slow-down of the wanted size would not have been found. wanted: None, or with .percent"""
    return [
        c for c in comparisons if wanted and c.tested_on and not (c.detectable and c.detectable <= 1 + wanted.percent)
    ]


def exit_code(comparisons, together=(), must_detect=None):
    if any(c.verdict in ("wrong", "slower") for c in comparisons) or any(one.verdict == "slower" for one in together):
        return CHECK
    if not any(c.verdict in STATISTICAL and c.ratio is not None for c in comparisons):
        return MACHINE if any(c.verdict == "no base" for c in comparisons) else NOTHING
    if must_detect and not must_detect.warn and not_detectable(comparisons, must_detect):
        return CHECK
    return CHECK if any(fails(c) for c in comparisons) else GOOD


def sort(comparisons):
    """The worst first; within a verdict the largest change first."""
    return sorted(
        comparisons, key=lambda c: (ORDER.index(c.verdict), -abs((c.ratio or 1) - 1), c.case, c.spec, c.mode or "")
    )


COLOURS = dict(zip(ORDER, (31, 31, 31, 35, 33, 32, 36, 36, 90)))
HEAD = ("verdict", "change", "95% interval", "base", "new", "runs", "finds", "mode", "variant")


def table(comparisons, result, colour):
    rows = [(c, cells(c)) for c in sort(comparisons)]
    widths = [max(len(row[i]) for row in [HEAD, *(r for _, r in rows)]) for i in range(len(HEAD))]
    lines = [line(HEAD, widths) + " | case"]
    for c, row in rows:
        text = line(row, widths) + f" | {terminal(c.case)}"
        lines.append(f"\033[{COLOURS[c.verdict]}m{text}\033[0m" if colour else text)
        if c.reason:
            lines.append(f"    {terminal(c.reason)}" + (" (allowed)" if c.allowed else ""))
        if c.changed:
            lines.append(f"    {c.changed}")
    first = [terminal(result["not_in_turns"])] if result["not_in_turns"] else []
    return "\n".join([*first, *(lines if rows else []), *closing(comparisons, result)]) + "\n"


def time(value):
    return seconds(value, 4, zeros=False)


def interval(c):
    return "" if c.low is None else f"{change(c.low)} to {change(c.high)}"


def repetitions(c):
    """How many processes a side, where any."""
    if not c.base_processes or not c.new_processes:
        return ""
    return str(c.base_processes) if c.base_processes == c.new_processes else f"{c.base_processes}/{c.new_processes}"


def finds(c):
    """The smallest slow-down that it would have shown."""
    return f"{100 * (c.detectable - 1):.1f}%" if c.detectable else ""


def cells(c):
    """As in HEAD."""
    times = time(c.base_seconds), time(c.new_seconds)
    return c.verdict, change(c.ratio), interval(c), *times, repetitions(c), finds(c), c.mode or "all", terminal(c.spec)


def line(row, widths):
    return "  ".join(
        text.rjust(w) if 1 <= i <= 6 else text.ljust(w) for i, (text, w) in enumerate(zip(row, widths))
    ).rstrip()


def closing(comparisons, result):
    yield f"{many(len(comparisons), 'comparison')}: {counts_text(comparisons) or 'none'}"
    yield f"base: {side(result['base'])}; new: {side(result['new'])}"
    for warning in result["warnings"]:
        yield f"note: {terminal(warning)}"
    if result["exit"] == 3:
        yield "nothing was compared"
    elif result["exit"]:
        failing = sum(map(fails, comparisons))
        yield f"FAILED: {many(failing, 'comparison')} of {len(comparisons)}" if failing else "FAILED: see the notes"


def side(facts):
    return f"{terminal(facts['file'])}, {many(facts['runs'], 'run')} of {', '.join(facts['commits']) or 'unknown'}"


SCHEMA = 1
HIDDEN = ("series", "other_gpu", "same_code", "fails_strict", "share", "promising")


def as_json(comparisons, result):
    rows = [
        {k: v for k, v in dataclasses.asdict(dataclasses.replace(c, series=())).items() if k not in HIDDEN}
        for c in sort(comparisons)
    ]
    whole = {"kind": "comparison", "schema": SCHEMA, **result, "counts": counts(comparisons), "comparisons": rows}
    return json.dumps(whole, indent=1, allow_nan=False) + "\n"


def as_markdown(comparisons, result):
    gate = (
        "nothing was compared"
        if result["exit"] == 3
        else f"regression gate: {'failed' if result['exit'] else 'passed'}"
    )
    lines = [markdown(result["not_in_turns"]), ""] if result["not_in_turns"] else []
    lines += [f"### {gate}", "", counts_text(comparisons) or "no comparisons", ""]
    header = [*(f">{name}" if 1 <= k <= 6 else name for k, name in enumerate(HEAD)), "case", ""]
    of = grouped(sort(comparisons), lambda c: c.verdict != "same" or bool(c.reason))
    if True in of:
        lines += [markdown_table(header, map(markdown_cells, of[True])), ""]
    if False in of:
        text = markdown_table(header, map(markdown_cells, of[False]))
        lines += [details(f"unchanged ({len(of[False])})", text), ""]
    lines.append(
        f"base: {', '.join(result['base']['commits']) or 'unknown'}; new: {', '.join(result['new']['commits']) or 'unknown'}; "
        f"least effect {100 * result['min_effect']:.3g}%"
    )
    return "\n".join(lines + [f"note: {markdown(warning)}" for warning in result["warnings"]]) + "\n"


def markdown_cells(c):
    verdict, *others, _ = cells(c)
    verdict = (f"**{verdict}**" if verdict in FAILING else verdict) + " (allowed)" * c.allowed
    return (
        verdict,
        *others,
        f"`{markdown(c.spec)}`",
        f"`{markdown(c.case)}`",
        markdown("; ".join(filter(None, (c.reason, c.changed)))),
    )


def as_junit(comparisons, result):
    """A case fails where it fails the gate; what is ambiguous, new or allowed is `skipped`, with its reason."""
    return junit.document("rungs compare", {"rungs compare": [junit_case(c) for c in sort(comparisons)]})


def junit_case(c):
    times = f"{change(c.ratio)} ({interval(c)}), {time(c.base_seconds)} -> {time(c.new_seconds)}"
    message = f"{c.verdict}: {times if c.ratio else c.reason or ''}"
    case = junit.Case(classname=c.case, name=f"{c.spec} {c.mode or 'all'}", message=message)
    if fails(c):
        case.outcome, case.kind, case.text = "failure", c.verdict, c.reason or message
    elif c.verdict in ("ambiguous", "new", "no base") or c.allowed:
        case.outcome, case.message = "skipped", f"{message}; {c.reason}" if c.ratio and c.reason else message
    return case
