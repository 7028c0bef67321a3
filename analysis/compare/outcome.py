"""The result of a whole comparison: counts, what fails the gate, the exit code."""

from fnmatch import fnmatchcase

ORDER = ("wrong", "slower", "missing", "not comparable", "ambiguous", "faster", "new", "no base", "same")
FAILING = ("wrong", "slower", "missing", "not comparable")
STATISTICAL = ("slower", "faster", "same", "ambiguous")
GOOD, CHECK, USAGE, NOTHING, MACHINE = 0, 1, 2, 3, 4


def allow(comparisons, globs):
    """--allow-missing: marks what is missing or not comparable as allowed, by the name of the variant, its spec or its case."""
    for c in comparisons:
        if c.verdict in ("missing", "not comparable"):
            names = (c.spec, c.spec.split()[0], c.spec.split()[0].split("/", 1)[-1], c.case)
            c.allowed = any(fnmatchcase(name, glob) for glob in globs for name in names)


def be_strict(comparisons, strict):
    """--strict: an ambiguous comparison fails if its whole interval lies beyond the minimum effect."""
    for c in comparisons:
        c.fails_strict = strict and c.beyond


def fails(c):
    return (c.verdict in FAILING or c.fails_strict) and not c.allowed


def counts(comparisons):
    return {verdict: sum(c.verdict == verdict for c in comparisons) for verdict in ORDER}


def not_detectable(comparisons, wanted):
    """Rows in which a slow-down of the wanted size would not have been found. wanted: None, or with .percent"""
    return [
        c for c in comparisons if wanted and c.tested_on and not (c.detectable and c.detectable <= 1 + wanted.percent)
    ]


def exit_code(comparisons, together=(), must_detect=None):
    if any(c.verdict in ("wrong", "slower") for c in comparisons) or any(one.verdict == "slower" for one in together):
        return CHECK
    if not any(c.verdict in STATISTICAL and c.ratio is not None for c in comparisons):
        return MACHINE if any(c.verdict == "no base" for c in comparisons) else NOTHING
    if must_detect and not must_detect.warn and not_detectable(comparisons, must_detect):
        return CHECK
    return CHECK if any(fails(c) for c in comparisons) else GOOD


def sort(comparisons):
    """The worst first; within a verdict the largest change first."""
    return sorted(
        comparisons, key=lambda c: (ORDER.index(c.verdict), -abs((c.ratio or 1) - 1), c.case, c.spec, c.mode or "")
    )
