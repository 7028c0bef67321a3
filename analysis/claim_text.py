"""What a claim says, in words and numbers, for tables and figures. Its verdict is the program's."""
import re

from analysis.format import count, seconds, significant

VERDICTS = ("reproduced", "exceeded", "not reproduced", "undecided", "not testable here")  # in the order in which they are told


def quantity(claim, value):
    if value is None:
        return "-"
    if claim.get("quantity") == "seconds":
        return seconds(value)
    if claim.get("quantity") in ("error", "launches"):
        return f"{value:g}" if value == int(value) else significant(value)
    return f"{significant(value)}x"


def words_of(case):
    """name -> value, as the text of a case has them."""
    return dict(word.split("=", 1) for word in str(case or "").split() if "=" in word)


def sizes_in(case):
    """"1e8", "64 x 100000": the sizes in a case's canonical text, rows before columns; a single row is not mentioned."""
    words = words_of(case)
    found = [words[key] for key in ("batch", "rows", "n", "cols") if words.get(key, "").isdigit() and (key, words[key]) != ("batch", "1")]
    return " x ".join(count(int(n)) for n in found) or "-"


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
    if claim.get("rule") == "range" and None not in (claim.get("low"), claim.get("high")):
        return f"{printed(claim, claim['low'])} to {printed(claim, claim['high'])}"
    value = claim.get("value")
    words = {"at_least": "at least ", "at_most": "at most "}.get(claim.get("rule"), "")
    return "-" if value is None else words + printed(claim, value)


def printed(claim, value):
    return f"{value:.5g}" + {"seconds": " s", "error": "", "launches": ""}.get(claim.get("quantity"), "x")
