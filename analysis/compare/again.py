"""What a second stage of `rungs ab` should run again: the ambiguous rows that seem slower, as variants, within a budget of time.

    python -m analysis.compare.again BASE NEW --process SECONDS --limit SECONDS [options of compare]

Prints nothing, or "ROWS SECONDS VARIANT,VARIANT..." on one line: how many rows, and how long it will take. Exit codes: those of compare.
"""
import sys

from analysis.compare import __main__ as comparing
from analysis.compare import detect
from analysis.lines import BadResults
from analysis.output import run

START_SECONDS = 2.0  # of a process, whatever it runs


def main(words=None):
    arguments = comparing.arguments_of(words, for_second_stage=True)
    try:
        comparisons, _ = comparing.compare(arguments)
    except (BadResults, OSError):
        return 0  # the comparison that follows tells why
    chosen = choose(comparisons, arguments.process, arguments.limit)
    if chosen:
        print(*chosen)
    return 0


def choose(comparisons, process_seconds, limit):
    """(rows, seconds, variants). The largest first, as far as there is time. A variant is run on all of its cases, so these count. Not one that was
    renamed: no name of it is known to both builds."""
    rows = {(c.case, c.spec) for c in comparisons}
    cases = {spec: sum(other == spec for _, other in rows) for _, spec in rows}
    variants, seconds, promising = [], 0.0, sorted((c for c in comparisons if c.promising and not (c.reason or "").startswith("renamed")), key=lambda c: -c.ratio)
    for c in promising:
        if c.spec in variants:
            continue
        count = sum(cases[spec] for spec in (*variants, c.spec))
        needed = 2 * detect.MORE * (START_SECONDS + process_seconds * count / len(rows))
        if needed <= limit:
            variants, seconds = [*variants, c.spec], needed
    if not variants:
        return None
    return sum(c.spec in variants for c in promising), round(seconds), ",".join(variants)


if __name__ == "__main__":
    sys.exit(run(main))
