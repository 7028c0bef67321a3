"""REPORT.md: what one would cite, from the rows, the sources' scenarios and the template beside this file; and the page of one op: claims with their sources, every
case and sweep, accuracy, failures."""

import pathlib
import string

from analysis import rows as r
from analysis import select
from analysis.format import many, pictures_of
from analysis.report import bits, checks, claims, findings, ladder, machine, rivals, standing
from analysis.report.claims import numbered

FIRST_LINE = "<!-- Written by `rungs report`. Do not edit: the next report overwrites it. -->"
TEMPLATE = pathlib.Path(__file__).with_name("report.md")
MOST_STATEMENTS, MOST_CASES = 19, 2  # cases: of an op


def ops_of(results):
    """Those with most timed rows first; then the others that ran."""
    timed = {op: 0 for op in sorted({row["op"] for row in results.rows})}
    for row in select.timed_rows(results):
        timed[row["op"]] += 1
    return sorted(timed, key=lambda op: (-timed[op], op))


def page(results, pictures, links, why_none):
    """links: op -> link of its page, and of the documentation."""
    pairs, ops = numbered(results), ops_of(results)
    by_machine = {name: {op: rivals.standings(results, op, name) for op in ops} for name in select.machines(results)}
    found = next(iter(by_machine.values()), {op: {} for op in ops})
    parts = {
        "status": machine.status(results),
        "abstract": findings.abstract(results, found),
        "sources": findings.sources(results, ops, links),
        "statements": claims.statement_table(pairs, MOST_STATEMENTS) or findings.NO_CLAIM,
        "provisional": claims.PROVISIONAL,
        "figure": pictures_of(pictures, "claims.") or why_none,
        "fastest": standing.fastest_table(results, by_machine, MOST_CASES),
        "bits": bits.price(found, links),
        "behind": "\n\n".join(filter(None, (standing.behind(found), standing.wrong_libraries(results)))),
        "time": pictures_of(pictures, "time."),
        "limits": checks.limits(results, pairs),
        "machine": machine.machine(results),
        "command": machine.reproduce(results),
        "cite": machine.cite(results),
        **{name: links[name] for name in ("method", "statistics", "results")},
    }
    text = string.Template(TEMPLATE.read_text(encoding="utf-8")).substitute(parts)
    return f"{FIRST_LINE}\n\n{text}"


def only(results, op):
    """The same results as if there were this op only."""

    def mine(rows):
        return [row for row in rows if row["op"] == op]

    return r.Results(
        results.environments,
        results.ceilings,
        mine(results.rows),
        [c for c in results.claims if r.op_of(c) == op],
        [],
        {key: mine(rows) for key, rows in results.campaigns.items()},
    )


def fastest_part(results, op):
    found = rivals.standings(results, op)
    if not found:
        return "Nothing was timed."
    parts = [standing.behind_text(found, most=1000) + standing.cpu_text(found), standing.case_table(results, found)]
    if joules := bits.energy_table({op: found}):
        parts.append("Joules of a call, in the cases that were metered:\n\n" + joules)
    for swept, cases in standing.sweep_groups(found):
        parts.append(
            f"**Libraries and published programs in Python, {standing.case_words(found[cases[0]].row, *swept)}**: how many times faster our best variant is\n\n"
            + standing.peer_table(found, swept, cases)
        )
    return "\n\n".join(parts)


def op_page(results, op, pictures, links, why_none):
    some, pairs = only(results, op), [(k, c) for k, c in claims.numbered(results) if r.op_of(c) == op]
    mine = [(link, text) for link, text in pictures if f"_{op}" in link.rsplit("/", 1)[-1]]
    parts = [
        FIRST_LINE,
        f"# {op}: results",
        f"[Report]({links['report']}), [how it is measured]({links['method']}), {many(len(some.rows), 'row')}.",
        "## Published claims",
        claims.of_op(pairs, mine),
        "## Who is fastest where",
        fastest_part(results, op),
        "## Ladder and sweeps",
        ladder.ladder(some, mine, why_none, links),
        "## Accuracy",
        checks.accuracy(some),
        "## Failed verification",
        checks.failed(some),
        "## Skipped",
        checks.skipped(some),
        "## Machine",
        machine.machine(some, full=True),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"
