"""JUnit XML of what was verified: a test case is a variant on a case; fail is a failure, error an error, skip is skipped. The latest row of each."""

from analysis import junit
from analysis import rows as r
from analysis.export.entries import name_of

OUTCOMES = {"pass": "passed", "fail": "failure", "error": "error", "skip": "skipped"}


def write(source):
    suites = r.grouped(source.latest.rows, lambda row: f"{row['op']} ({source.machine(row)})")
    cases = {name: list(map(case_of, rows)) for name, rows in suites.items()}
    return junit.document("rungs", cases), len(source.latest.rows)


def case_of(row):
    outcome = OUTCOMES.get(row["verdict"], "error")
    reason = row.get("reason") or (row["verdict"] if outcome != "passed" else "")
    again = f"again: {r.again(row)}"
    return junit.Case(
        classname=f"{row['variant'].replace('/', '.')}" + ".emulated" * r.is_emulated(row),
        name=name_of(row),
        outcome=outcome,
        message=reason.split("\n", 1)[0] or passed_with(row),
        kind=row["verdict"],
        text="" if outcome in ("passed", "skipped") else "\n".join([reason, errors_of(row), again]),
        seconds=row.get("seconds_spent") or 0.0,
    )


def passed_with(row):
    left_out = r.unjudged(row)
    return errors_of(row) + (f"; not judgeable: {', '.join(left_out)}" if left_out else "")


def errors_of(row):
    worst, bound = r.worst_ratio(row), row.get("bound")
    known = worst is not None and bound
    return f"largest error {worst:.3g} of the bound {bound.get('formula') or bound.get('name')}" if known else ""
