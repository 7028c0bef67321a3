"""Judges the comparisons of a suite: statistics for each, the suite's correction for many tests, verdicts in words."""
import dataclasses
import math

import numpy as np

from analysis import statistics
from analysis.compare import decide
from analysis.format import change

FLOOR_LIMIT = 3  # times the least effect: a floor above would hide what the processes themselves tell
KINDS = ("processes", "spread", "samples")  # of tests


def judge(comparisons, min_effect=decide.MIN_EFFECT, noise=None):
    """Fills in the verdicts of those that have none. noise: a noise.Noise or None."""
    judge_suite([c for c in comparisons if c.verdict is None], min_effect, noise)
    tell_of_equal_code([c for c in comparisons if c.same_code], min_effect, noise)


def judge_suite(pending, min_effect, noise):
    groups = {}
    for c in pending:
        c.tested_on = kind_of_test(c.base_processes, c.new_processes, len(pending))
        groups.setdefault((c.tested_on, c.base_processes, c.new_processes), []).append(c)
    for (kind, *_), group in groups.items():
        judge_samples(group, noise) if kind == "samples" else judge_processes(group, noise, kind == "spread")
    for c in pending:
        set_floor(c, noise, min_effect, len(pending))
    correct(pending)
    for c in pending:
        c.verdict = str(decide.verdicts(c.ratio, c.low, c.high, c.p_adjusted, min_effect, c.noise_floor))
        c.reason = explain(c, min_effect, len(pending))
        c.beyond = c.verdict == "ambiguous" and c.low >= 1 + min_effect
        c.series = ()


def tell_of_equal_code(group, min_effect, noise):
    """Their verdict is `same` and they count among no tests, but times that differ are not kept back: something else may have changed."""
    copies = [dataclasses.replace(c, verdict=None, reason=None) for c in group]
    judge_suite(copies, min_effect, noise)
    for c, copy in zip(group, copies):
        if copy.verdict in ("slower", "faster"):
            c.reason += f"; but times differ by {change(copy.ratio)}, beyond chance: something other than the variant's code changed"
        c.series = ()


def correct(pending):
    """Each kind of test is a family of its own. The p of samples says nothing of what varies from process to process (the floor does), so
    it is small where nothing changed; among others it would make Benjamini and Hochberg's rule believe them more easily. That of the
    spread holds for normal noise; those of processes alone hold for any."""
    for kind in KINDS:
        family = [c for c in pending if c.tested_on == kind]
        for c, p in zip(family, decide.adjusted([c.p for c in family], suite=len(pending))):
            c.p_adjusted = float(p)


def kind_of_test(base_count, new_count, suite):
    if can_decide(base_count, new_count, suite):
        return "processes"
    return "spread" if min(base_count, new_count) >= decide.MIN_PROCESSES else "samples"


def can_decide(base_count, new_count, suite):
    """Could full separation of the processes pass the correction, if it were the suite's only change?"""
    return min(base_count, new_count) >= decide.MIN_PROCESSES and statistics.least_p(base_count, new_count) * suite <= decide.ALPHA


def processes_needed(suite):
    """On each side, to decide so many comparisons."""
    return next(n for n in range(decide.MIN_PROCESSES, 100) if can_decide(n, n, suite))


def judge_processes(group, noise, by_spread):
    def stack(side, name):
        return np.array([getattr(c.series[side], name) for c in group])

    e = statistics.from_processes(*(stack(side, name) for name in ("seconds", "mhz", "cycles") for side in (0, 1)), by_spread=by_spread)
    for i, c in enumerate(group):
        c.judged_by = "cycles" if e.in_cycles[i] else "time"
        c.ratio, c.low, c.high, c.p = (float(x[i]) for x in (e.ratio, e.low, e.high, e.p))
        c.time_ratio = float(e.time_ratio[i])
        c.clock_ratio = float(e.clock_ratio[i]) if math.isfinite(e.clock_ratio[i]) else None
        if needs_known_spread(c):
            unseen = math.exp(decide.half_width(*known_spread(c, noise), c.base_processes, c.new_processes))
            c.low, c.high = min(c.low, c.ratio / unseen), max(c.high, c.ratio * unseen)


def judge_samples(group, noise):
    """Too few processes to be told apart: the samples, and what is known of the machine from elsewhere."""
    for c in group:
        base, new = c.series
        clocks = [float(np.median(s.mhz)) for s in c.series]
        c.clock_ratio = clocks[1] / clocks[0] if math.isfinite(clocks[0]) and math.isfinite(clocks[1]) else None
        unseen = max(decide.half_width(*spread, c.base_processes, c.new_processes) for spread in spreads_of(c, noise))
        times = statistics.from_samples(base.samples, new.samples, unseen)
        c.judged_by, c.time_ratio = "time", times[0]
        if c.clock_ratio and abs(math.log(c.clock_ratio)) > statistics.CLOCK_STEADY and abs(math.log(c.clock_ratio * times[0])) < abs(math.log(times[0])):
            c.judged_by = "cycles"  # the smaller difference, as the steadier of the two would show it
            times = tuple(x * c.clock_ratio for x in times[:3]) + times[3:]
        c.ratio, c.low, c.high, c.p = times


def known_spread(c, noise):
    """Standard deviation of log process medians, and from how many degrees of freedom it is known: from elsewhere."""
    return (noise.spread(c) if noise else None) or (decide.ASSUMED_SPREAD, math.inf)


def seen_spread(c):
    """The same of these processes themselves; None where they are too few."""
    degrees = c.base_processes + c.new_processes - 2
    sides = [s.cycles if c.judged_by == "cycles" else s.seconds for s in c.series]
    return (float(statistics.pooled_spread(*map(np.log, sides))), degrees) if degrees >= decide.MIN_DEGREES else None


def spreads_of(c, noise):
    """What is known, and what is seen: where that is more, it is believed."""
    return [spread for spread in (known_spread(c, noise), seen_spread(c)) if spread]


def shows_spread(c):
    return min(c.base_processes, c.new_processes) >= decide.MIN_SPREAD_PROCESSES


def needs_known_spread(c):
    """What the processes show of their spread decides, but they are too few to be believed alone."""
    return c.tested_on == "spread" and not shows_spread(c)


def set_floor(c, noise, min_effect, suite):
    def floor(spread):
        return float(decide.noise_floor(*spread, c.base_processes, c.new_processes, suite)) if spread else 0.0

    needed = c.tested_on == "samples" or needs_known_spread(c)
    known = floor(known_spread(c, noise)) if needed or noise and noise.spread(c) else 0.0
    if not needed and shows_spread(c) and known > FLOOR_LIMIT * min_effect:
        c.floor_capped_from, known = known, FLOOR_LIMIT * min_effect
    c.noise_floor = max(known, 0.0 if c.tested_on == "processes" else floor(seen_spread(c)))


def held_back(c, min_effect):
    """Ambiguous for no other reason than the noise floor."""
    changed = c.ratio >= 1 + min_effect or c.ratio <= 1 / (1 + min_effect)
    beyond = c.ratio >= 1 + c.noise_floor or c.ratio <= 1 / (1 + c.noise_floor)
    return c.verdict == "ambiguous" and c.noise_floor > min_effect and changed and not beyond and c.p_adjusted <= decide.ALPHA


def explain(c, min_effect, suite):
    said = []
    if c.verdict == "ambiguous":
        said.append(why_ambiguous(c, min_effect, suite))
    if c.floor_capped_from and c.verdict != "same":
        said.append(f"the noise floor is {100 * c.floor_capped_from:.0f}%, capped at {FLOOR_LIMIT} times the minimum effect, since these "
                    "processes show their spread themselves")
    if c.judged_by == "cycles":
        said.append(f"in cycles; time {change(c.time_ratio)}, SM clock {change(c.clock_ratio)}")
    return "; ".join(said) or None


def why_ambiguous(c, min_effect, suite):
    least = max(min_effect, c.noise_floor)
    beyond = c.ratio >= 1 + least or c.ratio <= 1 / (1 + least)
    if (c.tested_on == "samples" or needs_known_spread(c)) and not beyond:
        return (f"{c.base_processes} and {c.new_processes} processes: differences below {100 * least:.0f}% may be chance; "
                f"{processes_needed(suite)} a side would decide (rungs ab)")
    if c.p_adjusted > decide.ALPHA:
        return f"anything from {change(c.low)} to {change(c.high)}: repeat, or quieten the machine"
    if c.noise_floor > min_effect and not beyond:
        whose = "the smallest change that the spread of these processes can show" if c.tested_on == "spread" else "the machine's noise floor"
        return f"below {whose}: {100 * c.noise_floor:.1f}%"
    return f"a change, but not clearly by {100 * min_effect:.3g}% or more"
