"""What a second stage of `rungs ab` should run again: the ambiguous rows that seem slower, as variants, within a budget of time.

    python -m analysis.compare.again BASE NEW --start SECONDS --process SECONDS --limit SECONDS [options of compare]

Prints nothing where no row needs it; "ROWS SECONDS VARIANT,VARIANT..." on one line: how many rows, and how long it will take; or "# WHY", where rows need it
and there is no time. Exit codes: those of compare.
"""

import math
import sys

from analysis.compare import __main__ as comparing
from analysis.compare import detect
from analysis.format import many
from analysis.lines import BadResults
from analysis.output import run


def main(words=None):
    arguments = comparing.arguments_of(words, for_second_stage=True)
    try:
        comparisons, _ = comparing.compare(arguments)
    except (BadResults, OSError):
        return 0  # the comparison that follows tells why
    wanted, chosen = choose(comparisons, arguments)
    if chosen:
        print(*chosen)
    elif wanted:
        print(f"# {too_long(comparisons, wanted, arguments)}")
    return 0


def seconds_for(variants, comparisons, times):
    """Of a second stage. A variant is run on all of its cases, so these count; times: `start`, of a process before its first row, and `process`, whole."""
    rows = {(c.case, c.spec) for c in comparisons}
    share = sum(spec in variants for _, spec in rows) / len(rows)
    return 2 * detect.MORE * (times.start + max(0.0, times.process - times.start) * share)


def choose(comparisons, times):
    """(what is worth it, (rows, seconds, variants) or None). The largest first, as far as there is time. Not one that was renamed: no name of it is
    known to both builds."""
    promising = sorted(
        (c for c in comparisons if c.promising and not (c.reason or "").startswith("renamed")), key=lambda c: -c.ratio
    )
    variants = []
    for c in promising:
        if c.spec not in variants and seconds_for([*variants, c.spec], comparisons, times) <= times.limit:
            variants.append(c.spec)
    if not variants:
        return promising, None
    return promising, (
        sum(c.spec in variants for c in promising),
        math.ceil(seconds_for(variants, comparisons, times)),
        ",".join(variants),
    )


def too_long(comparisons, wanted, times):
    least = min(seconds_for([c.spec], comparisons, times) for c in wanted)
    return (
        f"{many(len(wanted), 'ambiguous row')} that seem{'s' * (len(wanted) == 1)} slower would take {math.ceil(least)} s or more ({detect.MORE} processes of each build, "
        f"{times.start:.2g} s to start one), longer than {math.floor(times.limit)} s; --second-stage {math.ceil(least) + 1}s has time for it"
    )


if __name__ == "__main__":
    sys.exit(run(main))
