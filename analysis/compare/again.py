"""What a second stage of `rungs ab` should run again: the ambiguous rows that seem slower, as variants, within a budget of time."""

import math

from analysis.compare import detect
from analysis.format import many


def seconds_for(variants, comparisons, times):
    """Of a second stage. A variant is run on all of its cases, so these count; times: `start`, of a process before its first row, `process`, whole, and `limit`, of the stage."""
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
