"""Writes JUnit XML as Jenkins' junit-10.xsd has it, which is what most consumers read. For the exporter and for `rungs compare`."""

import re
import xml.etree.ElementTree as xml
from dataclasses import dataclass


@dataclass
class Case:
    classname: str
    name: str
    outcome: str = "passed"  # or "failure", "error", "skipped"
    message: str = ""  # one line; what a page shows
    kind: str | None = None  # of a failure or an error
    text: str = ""  # all there is to say
    seconds: float = 0.0


def document(name, suites):
    """suites: name -> cases."""
    whole = totals([c for cases in suites.values() for c in cases])
    del whole["skipped"]  # of suites alone
    root = xml.Element("testsuites", {"name": printable(name), **whole})
    for title, cases in suites.items():
        suite = xml.SubElement(root, "testsuite", {"name": printable(title), **totals(cases)})
        for case in cases:
            add(suite, case)
    xml.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n"


def totals(cases):
    outcomes = [c.outcome for c in cases]
    counts = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    found = {name: str(outcomes.count(outcome)) for name, outcome in counts.items()}
    return {"tests": str(len(cases)), "time": f"{sum(c.seconds for c in cases):.3f}", **found}


def add(suite, case):
    names = {"classname": printable(case.classname), "name": printable(case.name), "time": f"{case.seconds:.3f}"}
    element = xml.SubElement(suite, "testcase", names)
    if case.outcome == "passed":
        if case.message:
            xml.SubElement(element, "system-out").text = printable(case.message)
        return
    inner = xml.SubElement(element, case.outcome, {"message": printable(case.message)})
    if case.kind:
        inner.set("type", printable(case.kind))
    inner.text = printable(case.text) or None


def printable(text):
    """XML has no place for control characters, and a crashed variant may print any."""
    return re.sub("[^\n\t -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "?", text)
