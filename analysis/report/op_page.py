"""The page of one op: claims with their sources, every case and sweep, accuracy, failures, first calls."""

from analysis import rows as r
from analysis.format import many
from analysis.report import checks, claims, ladder, machine, rivals, standing, tuning
from analysis.report.page import FIRST_LINE


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
    for swept, cases in standing.sweep_groups(found)[0]:
        parts.append(
            f"**Libraries and published programs in Python, {standing.case_words_without(found[cases[0]].row, swept)}**: how many times faster our best variant is\n\n"
            + standing.peer_table(found, swept, cases)
        )
    return "\n\n".join(parts)


def page(results, op, pictures, links, why_none):
    some, pairs = only(results, op), [(k, c) for k, c in claims.numbered(results) if r.op_of(c) == op]
    mine = [(link, text) for link, text in pictures if f"_{op}" in link.rsplit("/", 1)[-1]]
    tunables = tuning.tuning(some)
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
        tunables and f"## Tunables\n\n{tunables}",
        "## Accuracy",
        checks.accuracy(some, mine),
        "## Failed verification",
        checks.failed(some),
        "## Skipped",
        checks.skipped(some),
        "## Emulated",
        checks.emulated(some),
        "## First call and preparation",
        checks.startup(some),
        "## Machine",
        machine.machine(some, full=True),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"
