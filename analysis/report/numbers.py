"""Numbers in README.md and docs/: what stands between `<!-- row: QUERY -->` and `<!-- /row -->` is what the rows say.

Queries:
    published ID                        the number that was published, of the claim with this id
    here ID                             what was measured here
    time VARIANT on CASE                cold median; CASE: an op and parameters, such as `rolling agg=mean n=1e8 window=3000`; of several cases the one with most rows
    gain VARIANT over VARIANT on CASE   how many times faster the first is, with its interval, in the latest campaign that has both
    share VARIANT on CASE               of the limit
    timed VARIANT on CASE               both: `382 us (97%)`
    fastest OP on CASE                  our fastest variant within the op's own tolerance; in those above, `fastest` stands for it
    claims                              "46 published numbers, 63 tests: 13 hold, ..."; claims short: "accuracy and counts 35 of 35; speed-ups ..."
What no row tells is "not measured".
"""

import re

from analysis import joined
from analysis import rows as r
from analysis.claim_text import published, published_programs, quantity
from analysis.format import percent, seconds
from analysis.output import End, write_whole
from analysis.published import number_or_text
from analysis.report import rivals
from analysis.report.claims import short_counts, summary

MARKER = re.compile(r"<!-- row: (.+?) -->(.*?)<!-- /row -->", re.S)
NOTHING, FASTEST = "not measured", "fastest"


class BadNumber(End):
    """A query that cannot be read; the message names the file."""


def matches(row, words):
    op, *pairs = words
    if row["op"] != op:
        return False
    for name, _, wanted in (word.partition("=") for word in pairs):
        value = {"dtype": row["dtype"], "input": row["input"]}.get(name, row["params"].get(name))
        if str(value) != wanted and number_or_text(wanted) != value:
            return False
    return True


def case_of(results, words, variants=()):
    """Of the timed cases that fit, the one with most rows in which all these variants were timed."""
    fits = (row for row in results.rows if r.median(row) and matches(row, words) and rivals.stands(results, row))
    found = r.grouped(fits, lambda row: row["case"])
    fitting = [case for case, rows in found.items() if all(row_of(rows, name) for name in variants)]
    case = max(fitting, key=lambda case: (len(found[case]), case), default=None)
    return case, found.get(case, [])


def row_of(rows, name):
    return rivals.fastest([row for row in rows if r.names(joined.spec(name), row)])


def our_fastest(results, op, case):
    found = rivals.latest(results, op).get(case)
    return found.ours if found else None


def beside(results, case, names):
    """A row for each name, of the latest campaign that has all of them; None: there is none."""
    for rows in reversed(list(results.campaigns.values())):
        some = [row for row in rows if row["case"] == case and r.median(row) and rivals.stands(results, row)]
        ours = rivals.standing_of(some, published_programs(results.claims)).ours if some else None
        found = [row_of(some, name) if name != FASTEST else ours for name in names]
        if all(found):
            return found
    return None


def claim_of(results, name):
    return next((c for c in results.claims if c.get("id") == name), None)


def of_claim(results, what, name):
    c = claim_of(results, name)
    if what == "published":
        return published(c) if c else NOTHING
    return quantity(c, c["here"]) if c and c.get("here") is not None else NOTHING


def of_case(results, what, text):
    subject, _, case_text = text.partition(" on ")
    if not case_text:
        raise BadNumber(f"'{what} {text}': 'on CASE' is missing")
    names = subject.split(" over ")
    case, rows = case_of(
        results, case_text.split(), [name for name in names if name != FASTEST] if what != "fastest" else ()
    )
    if not case:
        return NOTHING
    if what == "fastest":
        best = our_fastest(results, names[0], case)
        return f"`{r.name_of(best)}`" if best else NOTHING
    if what == "gain":
        found = beside(results, case, (names[0], names[-1]))
        return str(rivals.times_faster(found[1], found[0])).replace("*", "") if found else NOTHING
    mine = row_of(rows, names[0]) if names[0] != FASTEST else our_fastest(results, rows[0]["op"], case)
    if not mine:
        return NOTHING
    time, share = seconds(r.median(mine)), percent(r.share_of_limit(mine), 2)
    return {"time": time, "share": share, "timed": f"{time} ({share})"}[what]


def answer(results, query):
    what, _, rest = query.partition(" ")
    if query in ("claims", "claims short"):
        of = summary if query == "claims" else short_counts
        return of(results.claims).removeprefix("hold: ") if results.claims else NOTHING
    if what in ("published", "here") and rest:
        return of_claim(results, what, rest)
    if what in ("time", "share", "timed", "gain", "fastest") and rest:
        return of_case(results, what, rest)
    raise BadNumber(f"'{query}': no such query; see analysis/report/numbers.py")


def filled(results, text, path):
    def replaced(match):
        try:
            return f"<!-- row: {match.group(1)} -->{answer(results, match.group(1))}<!-- /row -->"
        except BadNumber as error:
            raise BadNumber(f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {error}") from error

    return MARKER.sub(replaced, text)


def pages(root):
    return [root / "README.md", *sorted((root / "docs").glob("*.md")), *sorted((root / "docs/ops").glob("*.md"))]


def refresh(results, root):
    for path in pages(root):
        text = path.read_text(encoding="utf-8")
        new = filled(results, text, path)
        if new != text:
            write_whole(path, new)
