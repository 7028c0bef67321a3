"""Of each case our fastest variant and its rivals, in one campaign, and how many times faster it is."""

import collections
import dataclasses
import math

from analysis import rows as r
from analysis import select
from analysis.claim_text import published_programs
from analysis.format import significant

MODE = "cold"
NARROW = 10  # percent: an interval of a ratio that is no wider is printed as one number


@dataclasses.dataclass
class Standing:
    """Of one case in one campaign the fastest rows; None where nothing of the kind was timed. Without `_any`: within the op's own tolerance."""

    rows: list
    published: dict | None
    published_any: dict | None
    library: dict | None
    library_any: dict | None
    ours: dict | None
    programs: set  # published variants
    others: tuple = ()  # of the same case in every campaign, the latest first; this one, too
    later: dict | None = None  # our fastest of later campaigns, which have no rival beside it, if not a slower variant

    @property
    def row(self):
        return self.rows[0]

    @property
    def device(self):
        """That of ours."""
        return self.ours and r.device_of(self.ours)

    @property
    def rivals(self):
        return self.theirs("published") + self.theirs("library")

    def theirs(self, kind):
        """(fastest of all, fastest within the op's own tolerance, if that is another): of "published" or "library"."""
        every, strict = getattr(self, f"{kind}_any"), getattr(self, kind)
        return [row for row in (every, strict if strict is not every else None) if row]


def fastest(rows):
    return min((row for row in rows if r.median(row, MODE)), key=lambda row: r.median(row, MODE), default=None)


def stands(results, row):
    return not r.is_emulated(row) and not results.why_not_ranked(row)


def standing_of(rows, published):
    strict = [row for row in rows if not r.is_declared(row)]

    def kind(row):
        return "published" if row["variant"] in published else "library" if r.is_library(row) else "ours"

    def best(some, wanted):
        return fastest([row for row in some if kind(row) == wanted])

    of_rivals = [best(some, wanted) for wanted in ("published", "library") for some in (strict, rows)]
    return Standing(rows, *of_rivals, best(strict, "ours"), published)


def standings(results, op, machine=None):
    """case -> Standing on one machine, by default the main one, in the campaign that compares most, of those alike the latest."""
    published, machine = published_programs(results.claims), machine or select.main_machine(results)
    found = collections.defaultdict(list)
    for rows in reversed(list(results.campaigns.values())):
        here = (row for row in rows if row["op"] == op and results.machine(row) == machine and stands(results, row))
        for case, some in r.grouped((row for row in here if r.median(row, MODE)), lambda row: row["case"]).items():
            found[case].append(standing_of(some, published))
    return {case: chosen_standing(some) for case, some in found.items()}


def latest(results, op):
    """case -> Standing of the latest rows, whatever their campaigns: for times, never for ratios."""
    published = published_programs(results.claims)
    rows = (row for row in select.rows_of(results, op) if stands(results, row))
    return {case: standing_of(some, published) for case, some in r.grouped(rows, lambda row: row["case"]).items()}


def chosen_standing(campaigns):
    """campaigns: the standings of one case, the latest first. Those with ours on the device where it is fastest precede: a part of a campaign may have the CPU's rows alone.
    Of those that have as much rivals without ours come last."""
    ours = fastest([some.ours for some in campaigns if some.ours])

    def compares(some):
        has_ours = some.ours is not None
        is_there = has_ours and some.device == r.device_of(ours)
        return is_there, has_ours + bool(some.published_any) + bool(some.library_any), has_ours

    best = max(campaigns, key=compares)
    later = fastest([some.ours for some in campaigns[: campaigns.index(best)] if some.ours])
    if later and best.ours and later["variant"] != best.ours["variant"] and fastest([later, best.ours]) is best.ours:
        later = None  # nobody ran the fastest again
    return dataclasses.replace(best, others=campaigns, later=later)


@dataclasses.dataclass
class Ratio:
    """How many times faster the second of two rows of one campaign is. low, high: the widest interval that the two medians' intervals allow; None: they have none."""

    theirs: dict
    mine: dict
    value: float
    low: float | None
    high: float | None

    @property
    def side(self):
        """1: faster, -1: slower, 0: the intervals overlap, or there is none."""
        return 0 if self.low is None else (self.low > 1) - (self.high < 1)

    def __str__(self):
        mark = {1: "", 0: "*", -1: "**"}[self.side]
        return f"{mark}{significant(self.value)}x{self.between()}{mark}"

    def between(self):
        """ " ±2%": the interval lies within that; a wide one in full."""
        if self.low is None:
            return " (no interval)"
        apart = math.ceil(100 * max(1 - self.low / self.value, self.high / self.value - 1) - 1e-9)
        return f" ±{max(apart, 1)}%" if apart <= NARROW else f" ({significant(self.low)} to {significant(self.high)})"


def times_faster(theirs, mine):
    if not theirs or not mine:
        return None
    a, b = r.timing(theirs, MODE), r.timing(mine, MODE)
    known = all(t.get(end) for t in (a, b) for end in ("low", "high"))
    low, high = (a["low"] / b["high"], a["high"] / b["low"]) if known else (None, None)
    return Ratio(theirs, mine, a["median"] / b["median"], low, high)


def pairs_of(some, published=True):
    """library -> its fastest row and our fastest, of the latest campaign that has both, ours on the same device everywhere. published: also published programs in Python."""
    found = {}
    for other in (other for other in some.others if other.device == some.device):
        theirs = [row for row in other.rows if published or row["variant"] not in some.programs]
        for name in {r.name_of(row) for row in theirs if r.is_library(row)} if other.ours else ():
            best = fastest([row for row in other.rows if r.name_of(row) == name])
            found.setdefault(name, times_faster(best, other.ours))
    return found
