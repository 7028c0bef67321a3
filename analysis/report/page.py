"""REPORT.md: three findings, the claims, each op on half a page, what could not be tested, machine and command, at most MOST_LINES lines and MOST_BYTES bytes;
and the page of one op: claims with their sources, every case and sweep, accuracy, failures."""

from analysis import rows as r
from analysis import select
from analysis.claim_text import is_shown
from analysis.format import many, pictures_of, table
from analysis.report import bits, checks, claims, findings, ladder, machine, rivals, standing
from analysis.report.claims import cross_table, numbered

FIRST_LINE = "<!-- Written by `rungs report`. Do not edit: the next report overwrites it. -->"
MOST_LINES, MOST_BYTES, MOST_FIGURES = 400, 40_000, 8
# Letters of a statement; cases, sizes and claims of an op; are numbers of other hardware listed, which are not judged? The first that fits.
SIZES = (
    (110, 8, 8, None, True),
    (110, 8, 8, None, False),
    (100, 7, 8, None, False),
    (90, 6, 8, None, False),
    (80, 5, 7, None, False),
    (70, 5, 6, None, False),
    (60, 5, 6, None, False),
    (50, 4, 6, None, False),
    (36, 3, 5, None, False),
    (28, 2, 4, 12, False),
    (28, 1, 3, 6, False),
)


def ops_of(results):
    """Those with most timed rows first; then the others that ran."""
    timed = {op: 0 for op in sorted({row["op"] for row in results.rows})}
    for row in select.timed_rows(results):
        timed[row["op"]] += 1
    return sorted(timed, key=lambda op: (-timed[op], op))


def shown_pictures(pictures, ops):
    """The figure of claims and one ladder an op, as far as they may be."""
    names = ["claims.", *(f"ladder_{op}." for op in ops)]
    files = [(link.rsplit("/", 1)[-1], (link, text)) for link, text in pictures]
    found = (next((picture for file, picture in files if file.startswith(name)), None) for name in names)
    return list(filter(None, found))[:MOST_FIGURES]


def shown_claims(pairs, most, others):
    """Of each op the first statements; all without a limit. others: those with a number of other hardware too."""
    pairs = [(number, c) for number, c in pairs if others or not is_shown(c)]
    first = {}
    for number, c in pairs:
        first.setdefault(r.op_of(c), number)
    return [(number, c) for number, c in pairs if most is None or number < first[r.op_of(c)] + most]


def op_part(results, op, pictures, link, sizes):
    _, most_cases, most_sizes, *_ = sizes
    found = rivals.standings(results, op)
    parts = [f"### {op}", pictures_of(pictures, f"ladder_{op}.")]
    if not found:
        rows = [row for row in results.rows if row["op"] == op]
        parts.append(
            f"Nothing was timed: {many(sum(row['verdict'] == 'pass' for row in rows), 'row')} of {len(rows)} passed. [Details]({link})"
        )
        return parts
    parts.append(standing.case_table(results, found, most_cases))
    groups = standing.sweep_groups(found)
    if groups:
        swept, cases = groups[0]
        parts.append(
            f"Our best against every library, and every published program in Python ({standing.case_words(found[cases[0]].row, *swept)}): how many times faster ours is.\n\n"
            + standing.peer_table(found, swept, cases, most_sizes)
        )
    parts.append(
        standing.behind_text(found)
        + standing.cpu_text(found)
        + bits.price_text(found)
        + f" Every case, sweep, accuracy and failure: [{link}]({link})"
    )
    return parts


def coverage(results):
    """op -> what its rows came to, as a table."""
    lines = []
    for op, rows in sorted(r.grouped(results.rows, lambda row: row["op"]).items()):
        verdicts = [row["verdict"] for row in rows]
        vague = sum(bool(r.unjudged(row)) for row in rows if row["verdict"] == "pass")
        counts = [
            *map(verdicts.count, ("pass", "fail", "error", "skip")),
            vague,
            sum(bool(r.median(row)) for row in rows),
        ]
        lines.append([op, len(rows), *(count or "-" for count in counts)])
    return table(["op", ">rows", ">pass", ">fail", ">error", ">skip", ">not judgeable in part", ">timed"], lines)


def written(results, pictures, links, why_none, sizes):
    """links: op -> link of its page, and of the documentation."""
    pairs, ops = numbered(results), ops_of(results)
    shown = shown_pictures(pictures, ops)
    listed, unlisted = shown_claims(pairs, *sizes[3:]), sum(is_shown(c) for _, c in pairs)
    parts = [
        FIRST_LINE,
        "# Report",
        findings.findings(results),
        f"[How it is measured]({links['method']}), [the rows with every sample]({links['results']}). Numbers come from rows; none was typed.",
        "## Published claims",
    ]
    if pairs:
        parts += [
            claims.HOW,
            cross_table(results.claims),
            pictures_of(shown, "claims."),
            claims.claims_table(listed, sizes[0]),
            "Source with URL and section, hardware, method and band of each claim: on the pages of the ops.",
        ]
        if sizes[3] and len(listed) < len(pairs):
            parts[-1] += f" {len(pairs) - len(listed)} more tests are there, too."
        if unlisted and not sizes[4]:
            parts[-1] += f" So are {unlisted} numbers of other hardware, which are shown beside ours and not judged."
    else:
        parts.append("No published claim was judged in these runs: `./rungs reproduce` judges them.")
    parts += [
        "## Who is fastest where",
        "Medians of cold calls. *published best*: the fastest published program, or its reimplementation; *library best*: the fastest other library; where the fastest has a looser tolerance of its own, which is named, the fastest within the op's "
        "follows it. A ratio is made within one campaign, which is one build on one card, and has the widest interval that both medians' intervals allow: **bold**, we are behind; *italic*, the intervals overlap. *of the limit*: share of the least "
        "time that the device needs for the bytes that any correct variant moves. "
        "CPU libraries are timed on the host, GPU ones on the device. " + (why_none if not shown else ""),
    ]
    for op in ops:
        parts += op_part(results, op, shown, links[op], sizes)
    parts += [
        "## What could not be tested",
        checks.untested(results, pairs),
        "## Rows",
        coverage(results),
        "## Machine",
        machine.machine(results),
        "## Command",
        machine.reproduce(results),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def fits(text):
    return text.count("\n") <= MOST_LINES and len(text.encode()) <= MOST_BYTES


def page(results, pictures, links, why_none):
    text = ""
    for sizes in SIZES:
        text = written(results, pictures, links, why_none, sizes)
        if fits(text):
            break
    return text


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
