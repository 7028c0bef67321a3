"""Judges the comparisons of a suite: evidence for each, the suite's correction for many tests, verdicts in words."""
import math

import numpy as np

import decide
import evidence
from noise import MIN_PROCESSES as MIN_CALIBRATED

FLOOR_LIMIT = 3  # times the least effect: a floor above would hide what the processes themselves tell


def judge(comparisons, min_effect=decide.MIN_EFFECT, noise=None):
    """Fills in the verdicts of those that have none. noise: a noise.Noise or None."""
    pending = [c for c in comparisons if c.verdict is None]
    groups = {}
    for c in pending:
        enough = can_decide(c.base_processes, c.new_processes, len(pending))
        c.tested_on = "processes" if enough else "samples"
        groups.setdefault((c.base_processes, c.new_processes) if enough else None, []).append(c)
    for counts, group in groups.items():
        judge_processes(group) if counts else judge_samples(group, noise)
    for c in pending:
        set_floor(c, noise, min_effect, len(pending))
    correct(pending)
    for c in pending:
        c.verdict = str(decide.verdicts(c.ratio, c.low, c.high, c.p_adjusted, min_effect, c.noise_floor))
        c.reason = explain(c, min_effect, len(pending))
        c.series = ()


def correct(pending):
    """Each kind of test is a family of its own. The p of samples says nothing of what varies from process to process (the floor does), so
    it is small where nothing changed; among others it would make Benjamini and Hochberg's rule believe them more easily."""
    for kind in ("processes", "samples"):
        family = [c for c in pending if c.tested_on == kind]
        for c, p in zip(family, decide.adjusted([c.p for c in family], suite=len(pending))):
            c.p_adjusted = float(p)


def can_decide(base_count, new_count, suite):
    """Could full separation of the processes pass the correction, if it were the suite's only change?"""
    return min(base_count, new_count) >= decide.MIN_PROCESSES and evidence.least_p(base_count, new_count) * suite <= decide.ALPHA


def processes_needed(suite):
    """On each side, to decide so many comparisons."""
    return next(n for n in range(decide.MIN_PROCESSES, 100) if can_decide(n, n, suite))


def judge_processes(group):
    def stack(side, name):
        return np.array([getattr(c.series[side], name) for c in group])

    e = evidence.from_processes(*(stack(side, name) for name in ("seconds", "mhz", "cycles") for side in (0, 1)))
    for i, c in enumerate(group):
        c.judged_by = "cycles" if e.in_cycles[i] else "time"
        c.ratio, c.low, c.high, c.p = (float(x[i]) for x in (e.ratio, e.low, e.high, e.p))
        c.time_ratio = float(e.time_ratio[i])
        c.clock_ratio = float(e.clock_ratio[i]) if math.isfinite(e.clock_ratio[i]) else None


def judge_samples(group, noise):
    """Too few processes to be told apart: the samples, and what is known of the machine from elsewhere."""
    for c in group:
        base, new = c.series
        clocks = [float(np.median(s.mhz)) for s in c.series]
        c.clock_ratio = clocks[1] / clocks[0] if math.isfinite(clocks[0]) and math.isfinite(clocks[1]) else None
        times = evidence.from_samples(base.samples, new.samples, spread_of(c, noise)[0])
        c.judged_by, c.time_ratio = "time", times[0]
        if c.clock_ratio and abs(math.log(c.clock_ratio)) > evidence.CLOCK_STEADY and abs(math.log(c.clock_ratio * times[0])) < abs(math.log(times[0])):
            c.judged_by = "cycles"  # the smaller difference, as the steadier of the two would show it
            times = tuple(x * c.clock_ratio for x in times[:3]) + times[3:]
        c.ratio, c.low, c.high, c.p = times


def spread_of(c, noise):
    """Standard deviation of log process medians, and from how many degrees of freedom it is known."""
    known = noise.spread(c) if noise else None
    return known or (decide.ASSUMED_SPREAD, math.inf)


def set_floor(c, noise, min_effect, suite):
    known = bool(noise and noise.spread(c))
    c.noise_floor = 0.0
    if known or c.tested_on == "samples":
        floor = float(decide.noise_floor(*spread_of(c, noise), c.base_processes, c.new_processes, suite))
        seen = c.tested_on == "processes" and min(c.base_processes, c.new_processes) >= MIN_CALIBRATED
        if seen and floor > FLOOR_LIMIT * min_effect:
            c.floor_set_aside = floor
        else:
            c.noise_floor = floor


def held_back(c, min_effect):
    """Ambiguous for no other reason than the noise floor."""
    changed = c.ratio >= 1 + min_effect or c.ratio <= 1 / (1 + min_effect)
    beyond = c.ratio >= 1 + c.noise_floor or c.ratio <= 1 / (1 + c.noise_floor)
    return c.verdict == "ambiguous" and c.noise_floor > min_effect and changed and not beyond and c.p_adjusted <= decide.ALPHA


def percent(ratio):
    return f"{100 * (ratio - 1):+.1f}%"


def explain(c, min_effect, suite):
    said = []
    if c.verdict == "ambiguous":
        said.append(why_ambiguous(c, min_effect, suite))
    if c.floor_set_aside and c.verdict != "same":
        said.append(f"the noise floor of {100 * c.floor_set_aside:.0f}% is set aside: over {FLOOR_LIMIT} times the least effect, where these "
                    "processes show their spread themselves")
    if c.judged_by == "cycles":
        said.append(f"in cycles; time {percent(c.time_ratio)}, SM clock {percent(c.clock_ratio)}")
    return "; ".join(said) or None


def why_ambiguous(c, min_effect, suite):
    least = max(min_effect, c.noise_floor)
    beyond = c.ratio >= 1 + least or c.ratio <= 1 / (1 + least)
    if c.tested_on == "samples" and not beyond:
        return (f"{c.base_processes} and {c.new_processes} processes: differences below {100 * least:.0f}% may be chance; "
                f"{processes_needed(suite)} a side tell more (rungs ab)")
    if c.p_adjusted > decide.ALPHA:
        return f"anything from {percent(c.low)} to {percent(c.high)}: repeat, or quieten the machine"
    if c.noise_floor > min_effect and not beyond:
        return f"below the machine's noise floor of {100 * c.noise_floor:.1f}%"
    return f"a change, but not clearly by {100 * min_effect:.3g}% or more"
