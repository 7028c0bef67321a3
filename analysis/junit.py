"""Writes JUnit XML as Jenkins' junit-10.xsd has it, which is what most consumers read. For the exporter and for `rungs compare`."""

import xml.etree.ElementTree as xml
from dataclasses import dataclass

OUTCOMES = ("passed", "failure", "error", "skipped")


@dataclass
class Case:
    classname: str
    name: str
    outcome: str = "passed"
    message: str = ""  # one line; what a page shows
    kind: str | None = None  # of a failure or an error
    text: str = ""  # all there is to say
    seconds: float = 0.0


def document(name, suites):
    """suites: name -> cases."""
    root = xml.Element(
        "testsuites",
        {"name": printable(name), **totals([c for cases in suites.values() for c in cases], skipped=False)},
    )
    for title, cases in suites.items():
        suite = xml.SubElement(root, "testsuite", {"name": printable(title), **totals(cases)})
        for case in cases:
            add(suite, case)
    xml.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n"


def totals(cases, skipped=True):
    found = {outcome: str(sum(c.outcome == outcome for c in cases)) for outcome in OUTCOMES}
    told = {
        "tests": str(len(cases)),
        "failures": found["failure"],
        "errors": found["error"],
        "time": f"{sum(c.seconds for c in cases):.3f}",
    }
    return {**told, **({"skipped": found["skipped"]} if skipped else {})}


def add(suite, case):
    element = xml.SubElement(
        suite,
        "testcase",
        {"classname": printable(case.classname), "name": printable(case.name), "time": f"{case.seconds:.3f}"},
    )
    if case.outcome == "passed":
        if case.message:
            xml.SubElement(element, "system-out").text = printable(case.message)
        return
    told = xml.SubElement(
        element,
        case.outcome,
        {"message": printable(case.message), **({"type": printable(case.kind)} if case.kind else {})},
    )
    told.text = printable(case.text) or None


def printable(text):
    """XML has no place for control characters, and a crashed variant may print any."""
    return "".join(
        ch if ch in "\n\t" or ch >= " " and not 0xD800 <= ord(ch) <= 0xDFFF and ord(ch) not in (0xFFFE, 0xFFFF) else "?"
        for ch in text
    )
