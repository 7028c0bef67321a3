"""Pairs the rows of BASE and NEW, and gives the verdicts that need no statistics."""

from dataclasses import dataclass, field

import numpy as np

from analysis import rows as r
from analysis.compare.sides import facts_of, other_machine, timed, unknown_facts
from analysis.why import changed

DEVICE_MODES = ("cold", "hot", "graph")  # where equal kernels with equal launches leave nothing that could differ
BAD = ("fail", "error")  # wrong; crashed or timed out
VERIFIED_ONLY = "verify only"  # why_not_timed of runs that were to take no times


@dataclass
class Comparison:
    """One case, variant with tunables and mode (None: all of them) in BASE and NEW. Seconds; ratios are NEW / BASE."""

    case: str
    spec: str
    mode: str | None
    verdict: str | None = None
    reason: str | None = None
    emulated: bool = False
    allowed: bool = False  # by --allow-missing
    base_seconds: float | None = None
    new_seconds: float | None = None
    base_processes: int = 0
    new_processes: int = 0
    judged_by: str | None = None  # "time", "cycles", "adjusted", "alike", "code"
    tested_on: str | None = None  # "processes", "spread", "samples"
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    time_ratio: float | None = None
    clock_ratio: float | None = None
    noise_floor: float | None = None
    floor_capped_from: float | None = None  # a noise floor too high to be believed over the processes
    fails_strict: bool = False
    detectable: float | None = None  # the smallest ratio that would have been found, with probability 95%
    randomised: bool = False  # its processes ran in one random order (rungs ab)
    stage: int | None = None  # of two, where a second was planned
    share: float = 1.0  # of alpha, that a test of it has
    promising: bool = False  # ambiguous, and slower by so much that a second stage would be worth it
    throttled: tuple = ()  # processes of BASE and of NEW left out, since the device was throttled
    beyond: bool = False  # ambiguous, though the whole interval lies beyond the least effect, on the slow side
    device: str | None = None
    unknown: tuple = ()  # what neither side says of its machine, though it could decide whether they compare
    one_sided: tuple = ()  # what only one side says, since the other's program is older than that fact
    other_gpu: bool = False  # no GPU of BASE, all of one model, ran NEW
    same_code: bool = False
    changed: str | None = None  # what the counts of both sides say of it
    series: tuple = field(default=(), repr=False)  # the two Series, until judged


class Series:
    """The samples of one side: one array a process, and of each array its median, in seconds, MHz and cycles (NaN: unknown)."""

    def __init__(self, rows, mode, side=None):
        self.runs = [row.get("run") for row in rows]
        self.sessions = [side.session(run) for run in self.runs] if side else []
        self.places = [side.place(run) for run in self.runs] if side else []
        self.samples, clocks, cycles = [], [], []
        for row in rows:
            times = timed(row, mode)
            seconds = np.array(times["samples"], float)
            mhz = np.array([x if x else np.nan for x in times.get("sm_mhz") or []], float)
            known = ~np.isnan(mhz) if len(mhz) == len(seconds) else np.zeros(len(seconds), bool)
            enough = 2 * known.sum() >= len(seconds)
            self.samples.append(seconds)
            clocks.append(np.median(mhz[known]) if enough else np.nan)
            cycles.append(np.median(seconds[known] * mhz[known] * 1e6) if enough else np.nan)
        self.seconds = np.array([np.median(s) for s in self.samples])
        self.mhz, self.cycles = np.array(clocks), np.array(cycles)

    def __len__(self):
        return len(self.samples)


def join(base, new, modes):
    """All comparisons, in the order of case, variant, mode; those still to be judged have a `series` and no verdict."""
    names = renames(base, new)
    was = {old: now for now, old in names.items()}
    new.rows = {(key[0], names.get(key[1], key[1]), *key[2:]): rows for key, rows in new.rows.items()}
    found = []
    for key in sorted(base.rows.keys() | new.rows.keys(), key=str):
        found += compare_rows(key, base, new, modes)
    found = pair_other_inputs(found, base, new)
    for c in found:
        if c.spec in was:
            c.reason = "; ".join(filter(None, (f"renamed from {c.spec}", c.reason)))
            c.spec = was[c.spec]
    return found


class Rows(list):
    """Of one side, one a process; expected: how many processes could have made it."""

    def __init__(self, side, key, asked):
        super().__init__(side.rows.get(key, {}).values())
        self.expected = max(len(self), sum(side.attempts.get(words, 0) for words in asked))

    def lost(self):
        """The share of processes that have no such row, or skipped it."""
        return 1 - sum(row["verdict"] != "skip" for row in self) / self.expected if self.expected else 1.0

    def with_times(self, mode):
        """Those timed, and how many could have been."""
        right = [row for row in self if row["verdict"] == "pass" and row.get("why_not_timed") != VERIFIED_ONLY]
        return [row for row in right if timed(row, mode)], len(right)


def compare_rows(key, base, new, modes):
    def said(verdict, reason, mode=None):
        return Comparison(case=key[0], spec=key[1], emulated=key[2], mode=mode, verdict=verdict, reason=reason)

    asked = {side.asked(run) for side in (base, new) for run in side.rows.get(key, {})}
    base_rows, new_rows = (Rows(side, key, asked) for side in (base, new))
    was, now = state_of(base_rows), state_of(new_rows)
    found = [said(*found) for found in compare_verified(base_rows, new_rows, was, now)]
    if was != "pass" or now != "pass":
        return found
    for mode in modes:
        (base_timed, base_count), (new_timed, new_count) = (rows.with_times(mode) for rows in (base_rows, new_rows))
        if base_timed and (not new_timed or len(new_timed) * base_count < len(base_timed) * new_count):
            counts = f"{len(base_timed)} of {base_count} processes in BASE, {len(new_timed)} of {new_count} in NEW"
            why = why_untimed(new_rows, mode) + (f" (timed: {counts})" if new_timed else "")
            found.append(said("missing", why, mode))
        if base_timed and new_timed:
            found.append(compare_mode(said(None, None, mode), [base_timed, new_timed], base, new))
        elif new_timed:
            found.append(said("new", "not timed in BASE", mode))
    return found


def compare_verified(base_rows, new_rows, was, now):
    """What is said of a row as a whole, before its times: [(verdict, reason)], empty where both sides are right, or both never were."""
    right = compare_right(base_rows, new_rows, was, now)
    if right and right[0] != "ambiguous":
        return [right]
    lost = share(base_rows, ("pass",)) and new_rows.lost() > base_rows.lost()
    counts = ", ".join(
        f"{len(rows) - skips(rows)} of {rows.expected} in {name}"
        for rows, name in ((base_rows, "BASE"), (new_rows, "NEW"))
    )
    how, why = ("skipped", f": {reason_of(new_rows, ('skip',))}") if skips(new_rows) else ("missing", "")
    how = f"{how} in processes of NEW{why}"
    return ([right] if right else []) + ([("missing", f"{how} (processes that have it: {counts})")] if lost else [])


def compare_right(base_rows, new_rows, was, now):
    base_bad, new_bad = share(base_rows, BAD), share(new_rows, BAD)
    base_right, new_right = share(base_rows, ("pass",)), share(new_rows, ("pass",))
    counts = counts_text(base_rows, new_rows)
    if new_bad > base_bad:
        how = {"absent": "not in BASE, failed in NEW: ", "skip": "skipped in BASE, failed in NEW: "}.get(was, "")
        return "wrong", how + reason_of(new_rows) + counts
    if new_bad and (base_right or new_right):
        return "ambiguous", "failed in processes of both: " + reason_of(new_rows) + counts
    if now == "pass" and was != "pass":
        how = {
            "bad": "failed in BASE: " + reason_of(base_rows),
            "skip": "skipped in BASE: " + reason_of(base_rows),
            "absent": "not in BASE",
        }[was]
        return "no base" if was == "bad" else "new", how + counts
    if base_right and now == "absent":
        return "missing", "not in NEW"
    if (was == "pass" and now != "pass") or base_right > new_right == 0:
        return "missing", "skipped in NEW: " + reason_of(new_rows) + counts
    if base_right and now != "pass":
        return "ambiguous", "few processes of either side passed: " + reason_of(new_rows) + counts
    return None


def gpu_of(side, row):
    """The UUID of the GPU that made a row, None for a CPU's and where it is unknown."""
    if r.device_of(row) == "cpu":
        return None
    environment = side.environments.get(row.get("run")) or {}
    return ((row.get("gpu") or environment.get("gpu")) or {}).get("uuid")


def compare_mode(c, pair, base, new):
    c.throttled = tuple(sum(map(is_throttled, rows, [c.mode] * len(rows))) for rows in pair)
    if any(c.throttled):
        pair = [[row for row in rows if not is_throttled(row, c.mode)] for rows in pair]
        if not all(pair):
            c.verdict = "not comparable"
            c.reason = f"the device was throttled in all processes of {'NEW' if pair[0] else 'BASE'}"
            return c
    series = tuple(Series(rows, c.mode, side) for rows, side in zip(pair, (base, new)))
    c.randomised = in_turns(*series)
    c.base_seconds, c.new_seconds = (float(np.median(s.seconds)) for s in series)
    c.base_processes, c.new_processes = map(len, series)
    c.time_ratio = c.new_seconds / c.base_seconds
    facts = [
        [facts_of(side.environments.get(row.get("run")), row, c.mode) for row in rows]
        for side, rows in zip((base, new), pair)
    ]
    c.device = (facts[1][0] or {}).get("device")
    base_gpus, new_gpus = ({gpu_of(side, row) for row in rows} - {None} for side, rows in zip((base, new), pair))
    c.other_gpu = bool(base_gpus and new_gpus) and base_gpus.isdisjoint(new_gpus)
    reason = other_machine(facts) or (None if c.randomised else other_clock(*series))
    if reason:
        c.verdict, c.reason = "not comparable", reason
        return c
    c.unknown, c.one_sided = unknown_facts(facts)
    c.same_code = c.mode in DEVICE_MODES and has_same_code(pair)
    if c.same_code:
        launches = " and launches" if pair[0][0].get("launch") else ""
        c.verdict, c.reason = "same", f"same machine code{launches}: the variant's code did not change"
        c.ratio, c.judged_by = c.time_ratio, "code"
    counted = [max(rows, key=lambda row: bool(row.get("counts"))) for rows in pair]
    c.changed = changed(*counted) or None
    c.series = series
    return c


def in_turns(base, new):
    """Were all processes of both sides part of the same random orders?"""
    orders = [{session and session.id for session in s.sessions} for s in (base, new)]
    return bool(orders[0]) and None not in orders[0] and orders[0] == orders[1]


def is_throttled(row, mode):
    """Did something other than the load, such as heat, hold the clock down while the mode was measured?"""
    return bool((timed(row, mode).get("circumstances") or {}).get("throttled"))


def share(rows, verdicts):
    return sum(row["verdict"] in verdicts for row in rows) / len(rows) if rows else 0.0


def state_of(rows):
    """pass: right in most processes; else bad: wrong, crashed or timed out in one of them; skip; absent."""
    return "absent" if not rows else "pass" if share(rows, ("pass",)) > 0.5 else "bad" if share(rows, BAD) else "skip"


def counts_text(base_rows, new_rows):
    """Nothing where every process of a side says the same."""
    if all(len({row["verdict"] for row in rows}) < 2 for rows in (base_rows, new_rows)):
        return ""
    sides = ((rows, name) for rows, name in ((base_rows, "BASE"), (new_rows, "NEW")) if rows)
    passed = (f"{sum(row['verdict'] == 'pass' for row in rows)} of {len(rows)} in {name}" for rows, name in sides)
    return f" (processes that passed: {', '.join(passed)})"


def skips(rows):
    return sum(row["verdict"] == "skip" for row in rows)


def reason_of(rows, verdicts=("fail", "error", "skip")):
    for verdict in verdicts:
        for row in rows:
            if row["verdict"] == verdict:
                return row.get("reason") or verdict
    return ""


def why_untimed(rows, mode):
    for row in rows:
        how = ((row.get("timing") or {}).get(mode) or {}).get("why_none") or row.get("why_not_timed")
        if how:
            return f"not timed in NEW: {how}"
    return "not timed in NEW"


def other_clock(base, new):
    if np.isnan(base.mhz).any() or np.isnan(new.mhz).any():
        return None
    logs = [np.log(s.mhz) for s in (base, new)]
    apart = abs(np.median(logs[1]) - np.median(logs[0]))
    overlap = logs[0].max() >= logs[1].min() and logs[1].max() >= logs[0].min()
    if overlap or apart <= max(r.LOCKED_APART, 5 * max(np.std(x) for x in logs)):
        return None
    return f"SM clock {np.median(base.mhz):.0f} MHz in BASE, {np.median(new.mhz):.0f} MHz in NEW: locked differently?"


def has_same_code(pair):
    """The variant's machine code, device (of a CUDA variant) and host, and what it launched, equal in every process of both sides. Without the
    host's part a kernel could be called twice, or be given more to do, and look the same."""
    rows = pair[0] + pair[1]
    if any(takes_memory(row) for row in rows):
        return False
    codes = [row.get("code") or {} for row in rows]
    on_device = codes[0].get("sass_hash")
    known = codes[0].get("host_hash") and (rows[0].get("launch") if on_device else rows[0]["backend"] == "cpu")
    facts = [(code, row.get("launch")) for code, row in zip(codes, rows)]
    return bool(known) and all(fact == facts[0] for fact in facts)


def takes_memory(row):
    """In its calls, from the harness: whose own code is then in the times."""
    return bool((row.get("tunables") or {}).get("memory") or (row.get("counts") or {}).get("resource"))


INPUT_KEYS = ("input", "seed")


def renames(base, new):
    """Spec in NEW -> spec in BASE: those that only one side has, one of each, with the same machine code on the same op and tunables."""
    specs = [{key[1] for key in side.rows} for side in (base, new)]
    olds, news = codes_of(base, specs[0] - specs[1]), codes_of(new, specs[1] - specs[0])
    return {
        next(iter(news[code])): next(iter(olds[code]))
        for code in news
        if code and len(news[code]) == len(olds.get(code, ())) == 1
    }


def codes_of(side, specs):
    """Hashes of device and host code -> the specs that have it; None: not known."""
    codes = {}
    for (_, spec, *_), runs in side.rows.items():
        if spec in specs:
            row = next(iter(runs.values()))
            code = row.get("code") or {}
            known = code.get("host_hash")  # of a CUDA variant never alone
            codes.setdefault(
                (row["op"], code["sass_hash"], code["host_hash"], *spec.split(" ")[1:]) if known else None, set()
            ).add(spec)
    return codes


def pair_other_inputs(found, base, new):
    """A row missing and a row new that differ in nothing but their inputs are one row that cannot be compared."""
    rows = {}
    for side in (base, new):
        for key, runs in side.rows.items():
            rows[key[0], key[1], key[2]] = next(iter(runs.values()))

    def apart_from_inputs(c):
        row = rows[c.case, c.spec, c.emulated]
        return row["op"], str(sorted((row.get("params") or {}).items())), row.get("dtype"), c.spec, c.emulated

    def inputs(c):
        row = rows[c.case, c.spec, c.emulated]
        return ", ".join(f"{key} {row.get(key)}" for key in INPUT_KEYS)

    gone = {}
    for c in found:
        if c.verdict == "missing" and c.mode is None and c.reason == "not in NEW":
            gone.setdefault(apart_from_inputs(c), []).append(c)
    dropped = set()
    for c in found:
        is_new = c.verdict == "new" and c.mode is None and c.reason == "not in BASE"
        if is_new and len(gone.get(apart_from_inputs(c), [])) == 1:
            old = gone.pop(apart_from_inputs(c))[0]
            old.verdict, old.reason = "not comparable", f"different inputs: {inputs(old)} in BASE, {inputs(c)} in NEW"
            dropped.add(id(c))
    return [c for c in found if id(c) not in dropped]
