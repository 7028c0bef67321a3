"""The same comparison for programs and pages: JSON, Markdown, JUnit XML."""
import dataclasses
import json
import xml.etree.ElementTree as xml

from outcome import ORDER, counts, fails, sort
from phrases import change, interval, repetitions, seconds

SCHEMA = 1
HIDDEN = ("series", "same_code")
MARKS = {"wrong": "**wrong**", "slower": "**slower**", "missing": "**missing**", "not comparable": "**not comparable**"}


def as_json(comparisons, result):
    rows = [{k: v for k, v in dataclasses.asdict(dataclasses.replace(c, series=())).items() if k not in HIDDEN} for c in sort(comparisons)]
    return json.dumps({"kind": "comparison", "schema": SCHEMA, **result, "counts": counts(comparisons), "comparisons": rows}, indent=1,
                      allow_nan=False) + "\n"


def as_markdown(comparisons, result):
    found = counts(comparisons)
    head = "### " + ("nothing was compared" if result["exit"] == 3 else "regression gate: failed" if result["exit"] else "regression gate: passed")
    lines = [head, "", ", ".join(f"{found[v]} {v}" for v in ORDER if found[v]) or "no comparisons", ""]
    telling = [c for c in sort(comparisons) if c.verdict != "same" or c.reason]
    for title, rows in (("", telling), ("all that is the same", [c for c in sort(comparisons) if c.verdict == "same" and not c.reason])):
        if rows:
            lines += [f"<details><summary>{title} ({len(rows)})</summary>", ""] if title else []
            lines += ["| verdict | change | 95% interval | base | new | runs | mode | variant | case | |", "|---|---:|---:|---:|---:|---:|---|---|---|---|"]
            lines += ["| " + " | ".join(map(escape, markdown_cells(c))) + " |" for c in rows]
            lines += ["", *(["</details>", ""] if title else [])]
    lines.append(f"base: {', '.join(result['base']['commits']) or 'unknown'}; new: {', '.join(result['new']['commits']) or 'unknown'}; "
                 f"least effect {100 * result['min_effect']:.3g}%")
    return "\n".join(lines + [f"note: {warning}" for warning in result["warnings"]]) + "\n"


def markdown_cells(c):
    return (MARKS.get(c.verdict, c.verdict) + (" (allowed)" if c.allowed else ""), change(c.ratio), interval(c), seconds(c.base_seconds),
            seconds(c.new_seconds), repetitions(c), c.mode or "all", f"`{c.spec}`", f"`{c.case}`", c.reason or "")


def escape(cell):
    return cell.replace("|", "\\|").replace("\n", " ")


def as_junit(comparisons, result):
    """A case fails where it fails the gate; what is ambiguous, new or allowed is `skipped`, with its reason."""
    failing = sum(map(fails, comparisons))
    skipped = [c for c in comparisons if not fails(c) and (c.verdict in ("ambiguous", "new") or c.allowed)]
    numbers = {"tests": str(len(comparisons)), "failures": str(failing), "errors": "0", "skipped": str(len(skipped))}
    root = xml.Element("testsuites", {"name": "rungs compare", **{k: v for k, v in numbers.items() if k != "skipped"}})
    suite = xml.SubElement(root, "testsuite", {"name": "rungs compare", **numbers, "time": "0"})
    for c in sort(comparisons):
        case = xml.SubElement(suite, "testcase", {"classname": printable(c.case), "name": printable(f"{c.spec} {c.mode or 'all'}"), "time": "0"})
        text = printable(f"{c.verdict}: {change(c.ratio)} ({interval(c)}), {seconds(c.base_seconds)} -> {seconds(c.new_seconds)}"
                         if c.ratio else f"{c.verdict}: {c.reason or ''}")
        if fails(c):
            xml.SubElement(case, "failure", {"message": text, "type": c.verdict}).text = printable(c.reason or text)
        elif c in skipped:
            xml.SubElement(case, "skipped", {"message": printable(f"{text}; {c.reason}" if c.ratio and c.reason else text)})
        else:
            xml.SubElement(case, "system-out").text = text
    xml.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n"


def printable(text):
    """XML has no place for control characters, and a crashed variant may print any."""
    return "".join(ch if ch in "\n\t" or ch >= " " and not 0xD800 <= ord(ch) <= 0xDFFF and ord(ch) not in (0xFFFE, 0xFFFF) else "?" for ch in text)
