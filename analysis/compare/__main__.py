"""rungs compare: rows of two builds -> a verdict for each case, variant and mode. Reads rows only. Exit codes: docs/CI.md."""

import argparse
import collections
import dataclasses
import itertools
import math
import sys
import traceback

try:
    from analysis.arguments import Parser
    from analysis.compare import decide, judge, show
    from analysis.compare.calibrate import Noise
    from analysis.compare.join import join
    from analysis.compare.show import as_json, as_junit, as_markdown, table
    from analysis.compare.sides import Side
    from analysis.format import change, many
    from analysis.output import End, ends, run, write_whole
    from analysis.rows import modes_of
except ImportError as missing:  # 1 would be a regression
    print(f"{missing} (requirements.txt; ./rungs installs it)", file=sys.stderr)
    sys.exit(4)

WRITERS = {"json": as_json, "markdown": as_markdown, "junit": as_junit}


def effect(text):
    try:
        value = float(text.removesuffix("%")) / 100
    except ValueError:
        value = -1
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"'{text}': expected a percentage from 0 to 100, such as 3%")
    return value


@dataclasses.dataclass
class MustDetect:
    percent: float
    warn: bool = False


def must_detect(text):
    word, _, choice = text.partition(",")
    if choice not in ("", "warn"):
        raise argparse.ArgumentTypeError(f"'{text}': expected a percentage, such as 5%, or 5%,warn")
    return MustDetect(effect(word), choice == "warn")


def arguments_of(words):
    parser = Parser(prog="rungs compare")
    parser.add_argument("base")
    parser.add_argument("new")
    parser.add_argument("--min-effect", type=effect, default=decide.MIN_EFFECT, help="in percent")
    parser.add_argument("--noise")
    parser.add_argument("--must-detect", type=must_detect)  # smallest slow-down to be found; ',warn': only warn
    parser.add_argument("--allow-missing", default="")
    parser.add_argument("--modes", type=lambda text: text.split(","))  # default: all that rows have
    parser.add_argument("--strict", action="store_true")
    for name in WRITERS:
        parser.add_argument(f"--{name}")
    parser.add_argument("--colour", action="store_true")
    return parser.parse_args(words)


def compare(arguments):
    """All comparisons with verdicts, and findings about all rows together."""
    base, new = (Side(path).one_side().one_build() for path in (arguments.base, arguments.new))
    modes = modes_of(base.every_row() + new.every_row())
    modes = [mode for mode in modes if not arguments.modes or mode in arguments.modes]
    comparisons = join(base, new, modes)
    noise = Noise(arguments.noise, new) if arguments.noise else None
    together = judge.judge(comparisons, arguments.min_effect, noise)
    show.allow(comparisons, [glob for glob in arguments.allow_missing.split(",") if glob])
    show.be_strict(comparisons, arguments.strict)
    warnings = base.warnings + new.warnings + unknown(comparisons) + few_processes(comparisons)
    if noise:
        warnings += noise.warnings(comparisons) + disarmed(comparisons, arguments.min_effect)
    warnings += throttled(comparisons) + loud(comparisons) + changes_together(together)
    warnings += undetectable(comparisons, arguments.must_detect)
    result = {
        "exit": show.exit_code(comparisons, together, arguments.must_detect),
        "min_effect": arguments.min_effect,
        "not_in_turns": not_in_turns(comparisons, base, new),
        "alpha": decide.ALPHA,
        "must_detect": arguments.must_detect and arguments.must_detect.percent,
        "base": facts_of(base),
        "new": facts_of(new),
        "together": [dataclasses.asdict(one) for one in together],
        "warnings": warnings,
    }
    return comparisons, result


def facts_of(side):
    return {"file": side.path.rsplit("/", 1)[-1], "runs": len(side.runs()), "commits": side.commits()}


def unknown(comparisons):
    """Facts that a side does not record: the reader may know them."""
    found = []
    for of, where in (("unknown", "unknown on both sides"), ("one_sided", "not recorded by an older program")):
        names = collections.Counter(name for c in comparisons for name in getattr(c, of))
        counts = (f"{name} ({count} of {len(comparisons)} comparisons)" for name, count in names.items())
        found += [f"{where} and assumed equal: {', '.join(counts)}"] * bool(names)
    return found


def not_in_turns(comparisons, base, new):
    """How the sides were measured, where they were not in one random order; None where they were."""
    timed = [c for c in comparisons if c.base_processes and c.new_processes]
    apart = sum(not c.randomised for c in timed)
    if not apart:
        return None
    how = ""
    for (name, first), (other, then) in itertools.permutations((("BASE", base.dates()), ("NEW", new.dates()))):
        if first and then and first[-1] < then[0]:
            how = f", but {name} first ({first[0]} to {first[-1]}), then {other} ({then[0]} to {then[-1]})"
    others = sum(c.other_gpu for c in timed)
    how += f", on another GPU of the same model in {others} of {len(timed)} comparisons" if others else ""
    which = "" if apart == len(timed) else f" in {apart} of {len(timed)} comparisons"
    return f"not measured in turns{which}{how}: a change of the machine counts as a change of the code; rungs ab measures in turns"


def few_processes(comparisons):
    tested = [c for c in comparisons if c.tested_on]
    few = sum(c.tested_on == "samples" or judge.needs_known_spread(c) for c in tested)
    normal = sum(c.tested_on == "spread" for c in tested) - sum(map(judge.needs_known_spread, tested))
    needed = judge.processes_needed(len(tested)) if few or normal else 0
    why = (
        (few, f"to show the process-to-process spread; this many comparisons need {needed} a side (rungs ab)"),
        (
            normal,
            "for a rank test among so many and assume that noise is normal; "
            f"{needed} a side (rungs ab) need no such assumption",
        ),
    )
    return [f"{n} of {len(tested)} comparisons have too few processes {text}" for n, text in why if n]


def throttled(comparisons):
    """How many process times were left out."""
    found = [c for c in comparisons if any(c.throttled)]
    if not found:
        return []
    return [
        f"throttled (heat or power brake) and left out: {sum(c.throttled[0] for c in found)} process times of BASE, "
        f"{sum(c.throttled[1] for c in found)} of NEW, in {many(len(found), 'comparison')}; see `circumstances` in the rows"
    ]


def loud(comparisons):
    """One line for a machine on which most rows are ambiguous."""
    tested = [c for c in comparisons if c.tested_on]
    vague = [c for c in tested if c.verdict == "ambiguous"]
    if len(tested) < 2 or 2 * len(vague) <= len(tested):
        return []
    sizes = sorted(c.detectable or math.inf for c in tested)
    middle = sizes[len(sizes) // 2]
    could = f"only slow-downs of {100 * (middle - 1):.0f}% or more" if math.isfinite(middle) else "no slow-down"
    return [
        f"most rows are ambiguous ({len(vague)} of {len(tested)}): in half of the rows this machine shows {could}; stop other users of it, lock its "
        "clocks (nvidia-smi -lgc), pin threads, or take more --repetitions"
    ]


def changes_together(together):
    """Changes of all rows together, which rows judged against each other cannot show."""
    device = " on {}" if len(together) > 1 else ""
    return [
        f"all {one.rows} rows together{' (host modes)' * one.host}{device.format(one.device)}: {one.verdict}, "
        f"{change(one.ratio)} ({change(one.low)} to {change(one.high)})"
        for one in together
        if one.verdict != "same"
    ]


def undetectable(comparisons, wanted):
    found = show.not_detectable(comparisons, wanted)
    if not found:
        return []
    worst = max(found, key=lambda c: c.detectable or math.inf)
    size = f"{100 * (worst.detectable - 1):.1f}%" if worst.detectable else "more than tenfold"
    return [
        f"{many(len(found), 'comparison')} could not have shown a slow-down of {100 * wanted.percent:.3g}% (worst: {size}, {worst.spec} {worst.mode} | "
        f"{worst.case}); more --repetitions or a quieter machine"
    ]


def disarmed(comparisons, min_effect):
    tested = [c for c in comparisons if c.tested_on]
    if not tested or not all(judge.held_back(c, min_effect) for c in tested):
        return []
    return [
        f"WARNING: the noise floor alone makes all {len(tested)} comparisons ambiguous, each of which has changed by the least effect or more: this "
        "gate cannot fail; find what disturbed the calibration and repeat it, or compare without --noise"
    ]


@ends
def main(words=None):
    return tell(arguments_of(words))


def tell(arguments):
    """-> exit code."""
    try:
        comparisons, result = compare(arguments)
        for name, writer in WRITERS.items():
            path = getattr(arguments, name)
            if path:
                write_whole(path, writer(comparisons, result))
    except (End, OSError):
        raise
    except Exception:
        traceback.print_exc()
        return show.MACHINE
    sys.stdout.write(table(comparisons, result, arguments.colour))
    return result["exit"]


if __name__ == "__main__":
    sys.exit(run(main))
