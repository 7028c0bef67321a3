"""Claims as text and numbers, for tables and figures. The program (C) decides their outcome."""

import collections
import math
import re

from analysis.format import count, seconds, significant

# outcome -> how it is printed, in the order in which they are printed
OUTCOMES = {
    "holds": "holds",
    "direction": "same direction, another size",
    "far": "same direction, far from the size",
    "fails": "does not hold",
    "not_testable": "not testable here",
    "not_run": "not run",
}
PROGRAMS = ("original", "reimplementation", "successor", "ours")  # whose program was run
MEASURED = ("holds", "direction", "far", "fails")
# quantities without an interval: accuracy and counts
EXACT = ("error", "error_ratio", "launches", "peak_bytes", "bytes_over_minimum")
PUBLISHED_PROGRAMS = PROGRAMS[:2]
# quantity -> factor and unit, as printed
RATES = {"bytes_per_second": (1e9, "GB/s"), "elements_per_second": (1e6, "M elements/s")}
SHOWN, WORSE = "shown", "worse here"  # a number of other hardware, beside ours: not judged, but ours may be the worse


def is_shown(claim):
    return claim.get("rule") == "shown" and claim.get("here") is not None


def shown_words(claim):
    return f"{SHOWN}, {WORSE}" if claim.get("outcome") == "fails" else SHOWN


def is_finding(claim):
    return claim.get("claim_kind") == "finding"


def published_programs(claims):
    """Variants that stand for the sources' own programs: the originals and reimplementations of statements, and what their speed-ups are over; never a library or a variant of ours."""
    tested = [c for c in claims if c.get("program") in PUBLISHED_PROGRAMS and not is_finding(c)]
    sides = [(c.get(side), c.get("foreign") != side) for c in tested for side in ("variant", "baseline")]
    return {spec.split(" ")[0] for spec, is_own in sides if spec and is_own}


def is_counted(claim):
    """Totals are of published statements, tested by the original, by what does the same, or by what became of it."""
    return not is_finding(claim) and claim.get("program") != "ours" and not is_shown(claim)


def outcome(claim):
    """As printed."""
    words = shown_words(claim) if is_shown(claim) else OUTCOMES.get(claim.get("outcome"), str(claim.get("outcome")))
    return words + (" (finding)" if is_finding(claim) else "")


def totals(claims):
    """outcome -> how many of those that count, all outcomes in order."""
    found = collections.Counter(c.get("outcome") for c in claims if is_counted(c))
    return {name: found[name] for name in OUTCOMES}


def uncounted(claims):
    """(of other hardware and shown, worse here of these, findings, tested by programs of ours): but for the second each claim in one of these at most."""
    findings = [c for c in claims if is_finding(c)]
    mine = [c for c in claims if not is_finding(c) and c.get("program") == "ours"]
    shown = [c for c in claims if is_shown(c) and c not in findings and c not in mine]
    return len(shown), sum(c.get("outcome") == "fails" for c in shown), len(findings), len(mine)


def quantity(claim, value):
    if value is None:
        return "-"
    kind = claim.get("quantity")
    if kind == "seconds":
        return seconds(value)
    if kind in RATES:
        factor, unit = RATES[kind]
        return f"{significant(value / factor)} {unit}"
    if kind == "peak_bytes":
        return f"{value:,.0f} B"
    if kind in ("error", "launches"):
        return f"{value:g}" if value == int(value) else significant(value)
    return f"{significant(value)}x"


def words_of(case):
    """name -> value, as the text of a case has them."""
    return dict(word.split("=", 1) for word in str(case or "").split() if "=" in word)


def sizes_in(case):
    """ "1e8", "64 x 100000": the sizes in a case's canonical text, rows before columns; a single row is not mentioned."""
    words = words_of(case)
    found = [
        words[key] for key in ("batch", "rows", "n", "cols") if (key, words.get(key)) != ("batch", "1") and key in words
    ]
    return " x ".join(count(int(n)) for n in found if n.isdigit()) or "-"


def size_of(claim):
    """The size that the claim is judged at; two where the baseline has another."""
    mine, other = sizes_in(claim.get("case")), sizes_in(claim.get("baseline_case"))
    return mine if other in ("-", mine) else f"{mine} against {other}"


def modes_of(claim):
    mine, other = claim.get("mode"), claim.get("baseline_mode")
    return (mine or "-") if other in (None, mine) else f"{mine} against {other}"


def hardware_of(claim):
    """Without what stands in brackets: for labels."""
    return re.sub(r" \([^)]*\)", "", claim.get("hardware") or claim.get("source") or "unknown hardware")


def published(claim):
    """As it was printed, up to five digits."""
    value = claim.get("published")
    if isinstance(value, list):
        return f"{printed(claim, value[0])} to {printed(claim, value[1])}"
    words = {"at_least": "at least ", "at_most": "at most "}.get(claim.get("rule"), "")
    return "-" if value is None else words + printed(claim, value)


def published_value(claim):
    """One number: of a range its geometric middle."""
    value = claim.get("published")
    return math.sqrt(value[0] * value[1]) if isinstance(value, list) else value


def printed(claim, value):
    kind = claim.get("quantity")
    if kind in RATES:
        factor, unit = RATES[kind]
        return f"{value / factor:.5g} {unit}"
    if kind == "peak_bytes":
        return quantity(claim, value)
    if kind == "seconds" and value < 1:
        return f"{1e3 * value:.5g} ms"
    return f"{value:.5g}".replace("e-0", "e-") + {"seconds": " s", "error": "", "launches": ""}.get(kind, "x")
