"""Why a row is as far from its limit as it is: at most one sentence, from the counts of one call; and what of that two builds have changed.

Each rule says by which factor its cause could lengthen the call, and the largest is told. Those of FALLBACK speak where no other does."""

from analysis.format import seconds, significant

NEAR = 0.85  # share of the limit: nothing is to be explained
LEAST = 1.2  # factor
SECTOR, TINY, GAP = 32, 4e-6, 1e-6  # bytes; seconds of a launch that does nothing much; between two launches


def per(over, under):
    return over / under if over is not None and under else 0.0


class Figures:
    """Of a row, 0 where unknown."""

    def __init__(self, row):
        self.counts = row.get("counts") or {}
        timed = (row.get("timing") or {}).get("cold") or {}
        limit = timed.get("limit") or {}
        self.seconds, self.share = timed.get("median"), limit.get("share")
        self.least = (limit.get("bytes_read") or 0) + (limit.get("bytes_written") or 0)
        self.profile = {key: value or 0.0 for key, value in (self.counts.get("profile") or {}).items()}
        self.kernels = self.counts.get("kernels") or []
        self.longest = max(self.kernels, key=lambda k: k["seconds"] / k["launches"], default={})
        self.element = 8 if row.get("dtype") in ("f64", "i64") else 4

    def of(self, name):
        return self.profile.get(name, 0.0)


def ran(f):
    return sum(f.counts.get(name) or 0 for name in ("launches", "copies", "fills"))


def launches_seconds(f):
    """Of all but the longest: gaps, and kernels that do nothing much."""
    each = [(k["seconds"] / k["launches"], k["launches"] - (k is f.longest)) for k in f.kernels]
    return GAP * (ran(f) - 1) + sum(one * count for one, count in each if one < TINY)


def launches(f):
    if ran(f) < 2 or not f.seconds:
        return 0, ""
    spent = launches_seconds(f)
    factor = f.seconds / max(f.seconds - spent, 0.1 * f.seconds)
    return (
        factor,
        f"launch: {ran(f):.0f} launches, copies and fills take about {seconds(min(spent, f.seconds))} of {seconds(f.seconds)}",
    )


def spills(f):
    factor = 1 + per(f.of("local_sectors"), f.of("load_sectors") + f.of("store_sectors"))
    return factor, f"spills: local memory makes the sectors x{significant(factor)}"


def conflicts(f):
    share = min(0.95, per(f.of("bank_conflicts"), f.of("sm_cycles")))
    return 1 / (1 - share), f"bank conflicts of shared memory: {100 * share:.0f}% of the multiprocessors' cycles"


def moved_bytes(f):
    factor = per((f.counts.get("bytes_read") or 0) + (f.counts.get("bytes_written") or 0), f.least)
    return factor, f"bytes: x{significant(factor)} of the least"


def sectors(f):
    """Also where they are why bytes are too many."""
    moved = f.of("load_sectors") + f.of("store_sectors")
    each = max(per(f.of(f"{kind}_sectors"), f.of(f"{kind}_requests")) for kind in ("load", "store"))
    factor = max(per(SECTOR * moved, f.least), moved_bytes(f)[0]) if each > 1.5 * f.element else 0
    return (
        factor,
        f"sectors: {significant(each)} a request, {f.element} if coalesced; x{significant(factor)} of the least bytes",
    )


def balance(f):
    factor = per(f.of("sm_cycles_most"), f.of("sm_cycles_mean"))
    count = per(f.of("sm_cycles"), f.of("sm_cycles_mean"))
    blocks, threads = 1, 1
    for d in range(3):
        blocks, threads = (
            blocks * (f.longest.get("grid") or [0] * 3)[d],
            threads * (f.longest.get("block") or [0] * 3)[d],
        )
    resident = round(per((f.longest.get("occupancy") or 0) * 2048, threads))
    waves = per(blocks, resident * count)
    what = f"{significant(waves)} waves of blocks" if waves else "blocks"
    return factor, f"tail: multiprocessors work {100 * per(1, factor):.0f}% of the busiest one's time ({what})"


def barriers(f):
    share = min(0.95, f.of("stalled_barrier"))
    return 1 / (1 - share), f"waits: warps spend {100 * share:.0f}% of their time at barriers"


def polls(f):
    each = per(f.of("load_sectors"), f.of("load_requests"))
    factor = per(SECTOR * f.element * f.of("load_requests"), f.least)
    return (factor if 0 < each < 0.4 * f.element else 0), (
        f"waits: loads of {significant(each)} sectors each, x{significant(factor)} of those that the bytes need, as of polled flags"
    )


def occupancy(f):
    active, registers = f.of("warps_active"), f.counts.get("registers") or 0
    possible = f.counts.get("occupancy") or 0
    shared = f.longest.get("shared_bytes") or 0
    limit = (
        "blocks too few"
        if active < 0.6 * possible
        else f"{registers:.0f} registers"
        if registers > 64
        else f"{shared} bytes of shared memory a block"
        if shared > 16384
        else "small blocks"
    )
    return (
        0.4 / active if active and f.of("issue_active") < 0.5 else 0
    ), f"occupancy: {100 * active:.0f}% of warps ({limit})"


def instructions(f):
    return 2 * f.of(
        "issue_active"
    ), f"instructions: issued in {100 * f.of('issue_active'):.0f}% of cycles, {significant(f.of('lanes'))} lanes each"


RULES = launches, spills, conflicts, sectors, moved_bytes, balance, barriers, polls
FALLBACK = occupancy, instructions


def sentence(row):
    """None: the row is near its limit, or no cause holds in its figures."""
    f = Figures(row)
    if row.get("verdict") != "pass" or not f.counts or f.share is None or f.share >= NEAR:
        return None
    for rules in (RULES, FALLBACK):
        factor, text = max((rule(f) for rule in rules), key=lambda found: found[0])
        if factor >= LEAST:
            return text
    return None


def changed(base, new):
    """ "registers 40 -> 64, spills 0 -> 96 bytes, bytes x1.31": of two rows of a variant; "" where nothing did."""
    one, two = Figures(base), Figures(new)
    words = [
        f"{name} {before:.0f} -> {after:.0f}{unit}"
        for name, unit, value in CHANGES
        for before, after in [(value(one), value(two))]
        if one.counts and two.counts and None not in (before, after) and before != after
    ]
    words += [
        f"{name} x{significant(ratio, 3)}"
        for name, value in RATIOS
        for ratio in [per(value(two), value(one))]
        if ratio and abs(ratio - 1) >= 0.02
    ]
    return ", ".join(words)


CHANGES = (
    ("registers", "", lambda f: f.counts.get("registers")),
    ("spills", " sectors", lambda f: f.profile.get("local_sectors")),
    ("launches", "", lambda f: f.counts.get("launches")),
    ("occupancy", "%", lambda f: 100 * f.counts["occupancy"] if f.counts.get("occupancy") else None),
)
RATIOS = (
    ("bytes", lambda f: sum(f.counts.get(name) or 0 for name in ("bytes_read", "bytes_written"))),
    ("sectors", lambda f: f.of("load_sectors") + f.of("store_sectors")),
)
