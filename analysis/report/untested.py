"""The section of the report on what was not tested: claims that were not judged, variants that were skipped, crashed or only emulated, outputs that are not judgeable."""

import collections
import re

from analysis import rows as r
from analysis.claim_text import OUTCOMES, is_shown
from analysis.format import many
from analysis.report.claims import clipped, ranges, reason_of

PARAMETER = re.compile(r"^\w+=[^ :]+:? ")  # "k=20: ...": the same reason for each k
MOST_REASONS = 8  # of one kind, in a report; the page of an op has all of them


def claims_not_judged(pairs):
    found = collections.defaultdict(list)
    for number, c in pairs:
        if c.get("outcome") in ("not_testable", "not_run") and not is_shown(c):
            found[OUTCOMES[c["outcome"]], reason_of(c) or "no reason recorded"].append(number)
    return [f"- Claim {ranges(numbers)}, {what}: {clipped(why, 200)}" for (what, why), numbers in found.items()]


def skipped(results):
    found = collections.defaultdict(lambda: collections.defaultdict(int))
    for row in results.rows:
        if row["verdict"] == "skip":
            found[clipped(PARAMETER.sub("", row.get("reason") or "no reason recorded"), 160)][row["variant"]] += 1
    return [
        f"- Skipped, {reason}: {', '.join(f'`{name}`' for name in sorted(variants)[:5])}{f' and {len(variants) - 5} more' if len(variants) > 5 else ''} ({many(sum(variants.values()), 'row')})"
        for reason, variants in sorted(found.items(), key=lambda item: -sum(item[1].values()))
    ]


def errors(results):
    found = collections.Counter(row["variant"] for row in results.rows if row["verdict"] == "error")
    return [f"- Ended in an error: `{name}` ({many(count, 'row')})" for name, count in found.most_common()]


def emulated(results):
    rows = [row for row in results.rows if r.is_emulated(row) and row["verdict"] != "skip"]
    return (
        [f"- {many(len(rows), 'row')} of CUDA kernels ran in the emulator on the CPU: verified, not timed."]
        if rows
        else []
    )


def vague(results):
    found = collections.defaultdict(collections.Counter)
    for row in results.rows:
        if row["verdict"] in ("pass", "skip"):
            for name in r.unjudged(row):
                found[row["op"]][name] += 1
    return [
        f"- Not judgeable in {op}, because the tolerance would let 0 pass: "
        + ", ".join(f"{name} ({many(count, 'row')})" for name, count in sorted(names.items()))
        for op, names in sorted(found.items())
    ]


def shortened(lines):
    return lines[:MOST_REASONS] + (
        [f"- {many(len(lines) - MOST_REASONS, 'more reason')}: on the pages of the ops"]
        if len(lines) > MOST_REASONS
        else []
    )


def untested(results, pairs):
    lines = [
        line
        for some in (claims_not_judged(pairs), skipped(results), errors(results), emulated(results), vague(results))
        for line in shortened(some)
    ]
    return "\n".join(lines) or "Everything that was asked for ran."
