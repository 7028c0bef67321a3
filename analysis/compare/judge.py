"""Judges the comparisons of a suite: statistics of each, the correction for many tests, the verdict and its reason."""

import dataclasses
import math

import numpy as np

from analysis import statistics
from analysis.compare import alike, decide, detect, together
from analysis.format import change

FLOOR_LIMIT = 3  # times the minimum effect: a higher floor would hide what the processes show
KINDS = ("processes", "spread", "samples")  # of tests


def judge(comparisons, min_effect=decide.MIN_EFFECT, noise=None):
    """Fills in the missing verdicts. noise: a calibrate.Noise or None. -> findings about all rows together, one for each device and kind of mode."""
    together = judge_suite([c for c in comparisons if c.verdict is None], min_effect, noise)
    tell_of_equal_code([c for c in comparisons if c.same_code], min_effect, noise)
    return together


def judge_suite(pending, min_effect, noise):
    suites = together.suites_of(pending, min_effect)
    set_shares(suites)
    groups = {}
    for c in pending:
        c.tested_on = kind_of_test(c.base_processes, c.new_processes, len(pending), c.share)
        groups.setdefault((c.tested_on, c.base_processes, c.new_processes), []).append(c)
    for (kind, *_), group in groups.items():
        judge_samples(group, noise) if kind == "samples" else judge_processes(group, noise, kind == "spread")
    for c in pending:
        set_floor(c, noise, min_effect, len(pending))
    correct(pending)
    for c in pending:
        c.verdict = str(decide.verdicts(c.ratio, c.low, c.high, c.p_adjusted, min_effect, c.noise_floor))
        c.promising = c.randomised and c.verdict == "ambiguous" and c.ratio >= 1 + decide.LARGE * min_effect
    for c in pending:
        c.detectable = what_it_could_find(c, [s.seconds for s in c.series], min_effect, len(pending))
    for suite in suites:
        for view in suite.views:
            adjust(suite, view, min_effect, len(pending))
    for c in pending:
        c.reason = "; ".join(filter(None, (c.reason, explain(c, min_effect, len(pending))))) or None
        c.beyond = c.verdict == "ambiguous" and c.low >= 1 + min_effect
        c.series = ()
    return [suite.together for suite in suites if suite.together]


def set_shares(suites):
    """Sets each test's share of alpha. It depends on the size of the suite and on what was planned, never on what was found."""
    for suite in suites:
        two_stages = any(stages == 2 for c in suite.group for s in c.series for _, _, stages in s.sessions)
        for c in suite.group:
            c.stage = max(stage for s in c.series for _, stage, _ in s.sessions) if two_stages else None
            c.share = decide.share(suite.together, 1 + len(suite.views), c.stage)


def adjust(suite, view, min_effect, count):
    """Tests the rows of a suite again, with adjusted times (common.py, alike.py), and fills in what this decides."""
    tested = [(i, c) for i, c in enumerate(suite.group) if c.tested_on != "samples"]
    seen = [(c, i, look(c, *suite.sides(view.times, i), count)) for i, c in tested]
    if not seen:
        return
    for kind in KINDS:
        family = [(c, e) for c, _, e in seen if c.tested_on == kind]
        for (c, e), p in zip(family, decide.adjusted([e["p"] for _, e in family], suite=count)):
            e["p_adjusted"] = min(1.0, float(p) / c.share)
    removed = np.array([removed_interval(suite, view, i) for _, i, _ in seen]).T
    numbers = (np.array([e[name] for *_, e in seen]) for name in ("ratio", "low", "high", "p_adjusted", "noise_floor"))
    verdicts = verdicts_adjusted(*numbers, min_effect, *removed)
    ratio = np.array([e["ratio"] for *_, e in seen])
    misled = doubted = np.zeros(len(seen), bool)
    if view.alike is not None:
        misled, doubted = doubt_alike(suite, view, seen, ratio, verdicts, min_effect)
    verdicts[np.isin(verdicts, decide.CHANGES) & (doubted | together.doubted(suite.together, ratio))] = "ambiguous"
    suite.believe(verdicts)
    final, second = decide.both(np.array([c.verdict for c, *_ in seen]), verdicts, suite.believed)
    for (c, i, e), verdict, by_it, led in zip(seen, final, second, misled):
        narrower = c.verdict == "ambiguous" and suite.believed and not led and e["high"] / e["low"] < c.high / c.low
        c.promising = str(verdict) == "ambiguous" and (
            c.promising or suite.believed and e["ratio"] >= 1 + decide.LARGE * min_effect
        )
        if by_it or narrower:
            c.judged_by, c.verdict = view.name, str(verdict)
            for name, value in e.items():
                setattr(c, name, value)
        if suite.believed:
            could = what_it_could_find(c, suite.sides(view.times, i), min_effect, count)
            c.detectable = min(filter(None, (c.detectable, could)), default=None)


def doubt_alike(suite, view, seen, ratio, verdicts, min_effect):
    """-> (rows whose times without what is alike say nothing of the row itself; rows whose change may be that of the rows alike)."""
    at = [i for _, i, _ in seen]
    sides = [tuple(side[None] for side in suite.sides(view.alike, i)) for i in at]
    removed = np.array([alike.change(*pair)[0] for pair in sides])
    changed = np.isin(verdicts, decide.CHANGES)
    by_any = changed | np.isin([c.verdict for c, *_ in seen], decide.CHANGES)
    misled = alike.misled(ratio, removed, by_any, view.used[np.ix_(at, at)], min_effect)
    doubted = misled & alike.other_way(ratio, removed)
    for k in np.flatnonzero(changed):
        c, _, e = seen[k]
        if alike.doubted(*sides[k], ratio[k : k + 1])[0]:
            doubted[k] = True
            if c.verdict == "same" and e["high"] / e["low"] < c.high / c.low:
                c.verdict = "ambiguous"  # this row changed or those alike did, and the times alone know less of it
    return misled, doubted


def removed_interval(suite, view, i):
    """(low, high) of what the view removed from a row, NEW / BASE."""
    if view.removed is None:
        return (suite.together.low, suite.together.high) if suite.together else (1.0, 1.0)
    return tuple(float(x[0]) for x in statistics.ratio_interval(*(side[None] for side in suite.sides(view.removed, i))))


def look(c, base, new, count):
    found, floor = statistics.from_processes(base[None], new[None], by_spread=c.tested_on == "spread"), 0
    if c.tested_on == "spread":
        spread = statistics.pooled_spread(np.log(base), np.log(new))
        floor = decide.noise_floor(spread, len(base) + len(new) - 2, len(base), len(new), count)
    numbers = {name: float(getattr(found, name)[0]) for name in ("ratio", "low", "high", "p")}
    return {**numbers, "noise_floor": float(floor)}


def verdicts_adjusted(ratio, low, high, p_adjusted, floor, min_effect, removed_low, removed_high):
    """`same` only where what was removed is the same as well."""
    found = decide.verdicts(ratio, low, high, p_adjusted, min_effect, floor)
    inside = (low * removed_low > 1 / (1 + min_effect)) & (high * removed_high < 1 + min_effect)
    return np.where((found == "same") & ~inside, "ambiguous", found)


def what_it_could_find(c, sides, min_effect, count):
    if c.tested_on == "samples":
        least = math.log1p(max(min_effect, c.noise_floor))
        return math.exp(least + decide.half_width(*known_spread(c, None), c.base_processes, c.new_processes))
    level = decide.ALPHA * c.share / count
    again = level * decide.STAGE_SHARES[2] / decide.STAGE_SHARES[1] if c.stage == 1 else None
    return detect.smallest(*sides, level, max(min_effect, c.noise_floor), again)


def tell_of_equal_code(group, min_effect, noise):
    """Rows with equal code are `same` and not among the tests. If their times differ beyond chance, the reason says so: something other than
    the code changed."""
    copies = [dataclasses.replace(c, verdict=None, reason=None) for c in group]
    judge_suite(copies, min_effect, noise)
    for c, copy in zip(group, copies):
        if copy.verdict in ("slower", "faster"):
            c.reason += f"; but times differ by {change(copy.ratio)}, beyond chance: something other than the variant's code changed"
        c.series = ()


def correct(pending):
    """Corrects each kind of test as a family of its own. The p of samples ignores what varies from process to process (the noise floor covers
    that), so it is small even where nothing changed, and would loosen Benjamini and Hochberg's rule for the others. The p of the spread
    holds for normal noise, that of processes for any."""
    for kind in KINDS:
        family = [c for c in pending if c.tested_on == kind]
        for c, p in zip(family, decide.adjusted([c.p for c in family], suite=len(pending))):
            c.p_adjusted = min(1.0, float(p) / c.share)


def kind_of_test(base_count, new_count, suite, share=1):
    if can_decide(base_count, new_count, suite, share):
        return "processes"
    return "spread" if min(base_count, new_count) >= decide.MIN_PROCESSES else "samples"


def can_decide(base_count, new_count, suite, share=1):
    """Would complete separation of the sides pass the correction, as the only change of the suite?"""
    return (
        min(base_count, new_count) >= decide.MIN_PROCESSES
        and statistics.least_p(base_count, new_count) * suite <= decide.ALPHA * share
    )


def processes_needed(suite, share=1):
    """Processes a side that can decide `suite` comparisons."""
    return next(n for n in range(decide.MIN_PROCESSES, 100) if can_decide(n, n, suite, share))


def judge_processes(group, noise, by_spread):
    def stack(side, name):
        return np.array([getattr(c.series[side], name) for c in group])

    e = statistics.from_processes(
        *(stack(side, name) for name in ("seconds", "mhz", "cycles") for side in (0, 1)),
        by_spread=by_spread,
        wall_time=np.array([c.randomised for c in group]),
    )
    for i, c in enumerate(group):
        c.judged_by = "cycles" if e.in_cycles[i] else "time"
        c.ratio, c.low, c.high, c.p = (float(x[i]) for x in (e.ratio, e.low, e.high, e.p))
        c.time_ratio = float(e.time_ratio[i])
        c.clock_ratio = float(e.clock_ratio[i]) if math.isfinite(e.clock_ratio[i]) else None
        if needs_known_spread(c):
            unseen = math.exp(decide.half_width(*known_spread(c, noise), c.base_processes, c.new_processes))
            c.low, c.high = min(c.low, c.ratio / unseen), max(c.high, c.ratio * unseen)


def judge_samples(group, noise):
    """With too few processes: by the samples, and by the spread between processes that is known from elsewhere."""
    for c in group:
        base, new = c.series
        clocks = [float(np.median(s.mhz)) for s in c.series]
        c.clock_ratio = clocks[1] / clocks[0] if math.isfinite(clocks[0]) and math.isfinite(clocks[1]) else None
        spreads = filter(None, (known_spread(c, noise), seen_spread(c)))
        unseen = max(decide.half_width(*spread, c.base_processes, c.new_processes) for spread in spreads)
        times = statistics.from_samples(base.samples, new.samples, unseen)
        c.judged_by, c.time_ratio = "time", times[0]
        moved = c.clock_ratio and abs(math.log(c.clock_ratio)) > statistics.CLOCK_STEADY
        if moved and abs(math.log(c.clock_ratio * times[0])) < abs(math.log(times[0])):
            c.judged_by = "cycles"  # the smaller difference, as the steadier of the two would show it
            times = tuple(x * c.clock_ratio for x in times[:3]) + times[3:]
        c.ratio, c.low, c.high, c.p = times


def known_spread(c, noise):
    """(standard deviation of log process medians, its degrees of freedom), from the noise file or assumed."""
    return (noise.spread(c) if noise else None) or (decide.ASSUMED_SPREAD, math.inf)


def seen_spread(c):
    """The same, from these processes; None where they are too few."""
    degrees = c.base_processes + c.new_processes - 2
    sides = [s.cycles if c.judged_by == "cycles" else s.seconds for s in c.series]
    return (float(statistics.pooled_spread(*map(np.log, sides))), degrees) if degrees >= decide.MIN_DEGREES else None


def shows_spread(c):
    return min(c.base_processes, c.new_processes) >= decide.MIN_SPREAD_PROCESSES


def needs_known_spread(c):
    """The test is by the spread of the processes, but they are too few to estimate it alone."""
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
    """Ambiguous only because of the noise floor."""
    by_floor = c.noise_floor > min_effect and is_beyond(c, min_effect) and not is_beyond(c, c.noise_floor)
    return c.verdict == "ambiguous" and by_floor and c.p_adjusted <= decide.ALPHA


def is_beyond(c, effect):
    return c.ratio >= 1 + effect or c.ratio <= 1 / (1 + effect)


def explain(c, min_effect, suite):
    said = []
    if c.verdict == "ambiguous":
        said.append(why_ambiguous(c, min_effect, suite))
    if c.floor_capped_from and c.verdict != "same":
        said.append(
            f"the noise floor is {100 * c.floor_capped_from:.0f}%, capped at {FLOOR_LIMIT} times the minimum effect, since these "
            "processes show their spread themselves"
        )
    if c.judged_by == "cycles":
        said.append(f"in cycles; time {change(c.time_ratio)}, SM clock {change(c.clock_ratio)}")
    without = {
        "adjusted": "what all rows of a process have in common and what follows its clock",
        "alike": "what it has in common with the rows that vary most like it",
    }
    if c.judged_by in without and c.verdict != "same":
        said.append(f"without {without[c.judged_by]}; times alone {change(c.time_ratio)}")
    if c.randomised and c.clock_ratio and abs(math.log(c.clock_ratio)) > statistics.CLOCK_STEADY:
        said.append(f"SM clock {change(c.clock_ratio)}, cycles {change(c.time_ratio * c.clock_ratio)}")
    return "; ".join(said) or None


def why_ambiguous(c, min_effect, suite):
    least = max(min_effect, c.noise_floor)
    beyond = is_beyond(c, least)
    if (c.tested_on == "samples" or needs_known_spread(c)) and not beyond:
        return (
            f"{c.base_processes} and {c.new_processes} processes: differences below {100 * least:.0f}% may be chance; "
            f"{processes_needed(suite, c.share)} a side would decide (rungs ab)"
        )
    if c.p_adjusted > decide.ALPHA:
        return f"anything from {change(c.low)} to {change(c.high)}: repeat, or quieten the machine"
    if c.noise_floor > min_effect and not beyond:
        of_these = "the smallest change that the spread of these processes can show"
        whose = of_these if c.tested_on == "spread" else "the machine's noise floor"
        return f"below {whose}: {100 * c.noise_floor:.1f}%"
    return f"a change, but not clearly by {100 * min_effect:.3g}% or more"
