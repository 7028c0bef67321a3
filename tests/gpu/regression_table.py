"""What tests/gpu/regression.sh found, as the table of docs/data/gates.md: suites in which nothing changed, and slow-downs of known size.

    regression_table.py ROWS.jsonl [--suites N] [--repetitions N]      prints it; exit codes: regression.sh --help
    regression_table.py ROWS.jsonl --update docs/data/gates.md             writes it between the page's markers `regression`

The rows may be packed by gzip, as those of results/regression are.
"""

import argparse
import gzip
import itertools
import json
import pathlib
import random
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/scripts")]
import marked  # noqa: E402
from analysis.compare.__main__ import arguments_of, compare  # noqa: E402
from analysis.compare.show import interval  # noqa: E402
from analysis.format import change  # noqa: E402
from analysis.lines import BadResults  # noqa: E402

SENSITIVE = "1%"
PERCENT = (3, 5, 10)
MODES = ("cold", "hot", "graph")
EXPECTED = {
    (variant, mode) for variant in ("cuda_chain", "cuda_again") for mode in MODES
}  # what tests/regression/scenario.yaml measures
FOUND, LOST, INCOMPLETE, FAILED = 0, 1, 3, 4
ALARMS = ("slower", "faster", "wrong", "missing")


class Rows:
    """equal[commit]: the lines of each run of the build without extra work, in order; slowed[percent][side]: the same of `rungs ab` with that seed (in older rows told by
    variables.RUNGS_AB); environments: of all runs. Rows come without `launch`: where it is known, equal code is `same` whatever the times, and it is times that this is about."""

    def __init__(self, path):
        runs, place, commit, self.environments = {}, {}, {}, []
        packed = pathlib.Path(path).read_bytes()
        for text in (gzip.decompress(packed) if packed.startswith(b"\x1f\x8b") else packed).decode().splitlines():
            line = json.loads(text)
            if line.get("launch"):
                text = json.dumps({**line, "launch": None})
            runs.setdefault(line["run"], []).append(text)
            if line["kind"] == "environment":
                self.environments.append(line)
                place[line["run"]] = told_place(line)
                commit[line["run"]] = line["commit"]
        self.equal, self.slowed = {}, {percent: {"base": [], "new": []} for percent in PERCENT}
        for run, lines in runs.items():
            side, percent = place.get(run, (None, None))
            if side:
                self.slowed[percent][side].append(lines)
            if side != "new":
                self.equal.setdefault(commit[run], []).append(lines)


def told_place(environment):
    """(side, seed) in an order of `rungs ab`; (None, None): a process alone."""
    if environment.get("ab"):
        return environment["ab"]["side"], environment["ab"]["seed"]
    found = re.fullmatch(
        r"(base|new), process \d+ of \d+, seed (\d+)", (environment.get("variables") or {}).get("RUNGS_AB", "")
    )
    return (found[1], int(found[2])) if found else (None, None)


def judged(base, new, *words):
    """The comparisons of two lists of runs; none where a side is empty."""
    if not base or not new:
        return []
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder) / f"{name}.jsonl" for name in ("base", "new")]
        for path, runs in zip(paths, (base, new)):
            path.write_text("".join(text + "\n" for run in runs for text in run))
        return compare(arguments_of([*map(str, paths), "--modes", ",".join(MODES), *words]))[0]


def equal_suites(builds, repetitions, suites):
    """Consecutive processes of one build, their sides drawn at random. Where there are too few for all suites, neighbouring suites share some."""
    size = 2 * repetitions
    whole = sum(len(runs) // size for runs in builds.values()) >= suites
    for runs in builds.values():
        stride = size if whole or len(builds) > 1 else max(1, (len(runs) - size) // max(1, suites - 1))
        for begin in range(0, len(runs) - size + 1, stride):
            part = runs[begin : begin + size]
            random.Random(begin // stride).shuffle(part)
            yield judged(part[:repetitions], part[repetitions:])


def equal_table(rows, repetitions, suites, expected):
    """(lines, false alarms, how many suites there were, in which all was compared that is to be)"""
    found = list(itertools.islice(equal_suites(rows.equal, repetitions, suites), suites))
    told = [c for suite in found for c in suite]
    alarms = sum(any(c.verdict in ALARMS for c in suite) for suite in found)
    made = sum(lacks(suite, repetitions, expected) == set() for suite in found)
    counts = " | ".join(str(sum(c.verdict == verdict for c in told)) for verdict in ("same", "ambiguous"))
    largest = change(max((c.ratio for c in told if c.ratio), key=lambda ratio: abs(ratio - 1), default=None))
    processes = sum(map(len, rows.equal.values()))
    shared = "" if processes >= 2 * repetitions * len(found) else " (neighbouring suites share some)"
    return (
        [
            "| nothing changed: processes | suites | comparisons | suites with a false alarm | same | ambiguous | largest change |",
            "|---:|---:|---:|---:|---:|---:|---:|",
            f"| {processes}{shared} | {made} of {suites} | {len(told)} | {alarms} | {counts} | {largest} |",
        ],
        alarms,
        0 if shared else made,
    )


def lacks(comparisons, repetitions, expected):
    """What of the expected (variant, mode) was not judged by the times of enough processes on both sides."""
    done = {
        (c.spec.split("/")[-1].split()[0], c.mode)
        for c in comparisons
        if c.ratio
        and c.verdict in ("faster", "slower", "same", "ambiguous")
        and min(c.base_processes, c.new_processes) >= repetitions
    }
    return set(expected) - done


def slowed_table(rows, repetitions, expected):
    """(lines, slow-downs that were not found, whether all were measured)"""
    lines = [
        f"| extra work | variant | case | mode | processes | change | 95% interval | verdict | at `--min-effect {SENSITIVE}` |",
        "|---:|---|---|---|---:|---:|---:|---|---|",
    ]
    lost, whole = 0, True
    for percent, sides in rows.slowed.items():
        usual, sensitive = (judged(sides["base"], sides["new"], *words) for words in ([], ["--min-effect", SENSITIVE]))
        missing = lacks(usual, repetitions, expected)
        whole = whole and not missing
        for c, other in zip(usual, sensitive):
            size = re.search(r"\bn=(\d+)", c.case)
            lines.append(
                f"| {percent}% | `{c.spec}` | {size.group() if size else c.case} | {c.mode or 'all'} | {c.base_processes} and {c.new_processes} | {change(c.ratio)} | {interval(c)} | "
                f"{c.verdict} | {other.verdict} |"
            )
            lost += other.verdict != "slower" or (percent > 3 and c.verdict != "slower")
        if usual and missing:
            lines.append(
                f"| {percent}% | not all measured: {', '.join(f'`{variant}` {mode}' for variant, mode in sorted(missing))} | | | | | | | |"
            )
        if not usual:
            lines.append(f"| {percent}% | not measured | | | | | | | |")
    return lines, lost, whole


def where(rows, path):
    if not rows.environments:
        return "Nothing was measured."
    gpu = rows.environments[-1]["gpu"]
    device = f"{gpu['name']}, driver {gpu['driver']}" if gpu else f"{rows.environments[-1]['cpu']['model']}, no GPU"
    commits = dict.fromkeys(
        f"{(e['commit'] or 'unknown')[:7]}{' with changes' if e['dirty'] else ''}" for e in rows.environments
    )
    return f"{device}, commit {' and '.join(commits)}; rows: `{path}`."


def report(path, name, suites, repetitions, expected=EXPECTED):
    """(text, exit code)"""
    rows = Rows(path)
    equal, alarms, made = equal_table(rows, repetitions, suites, expected)
    slowed, lost, whole = slowed_table(rows, repetitions, expected)
    complete = whole and made == suites
    end = f"{alarms} false alarms, {lost} slow-downs not found" + (
        "." if complete else "; not all was measured in the time that there was."
    )
    return "\n".join(
        [where(rows, name), "", *equal, "", *slowed, "", end]
    ) + "\n", LOST if alarms or lost else FOUND if complete else INCOMPLETE


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", type=pathlib.Path)
    parser.add_argument("--suites", type=int, default=20)
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument(
        "--expect",
        metavar="VARIANT:MODE,...",
        help="what has to be there (default: what tests/regression/scenario.yaml measures)",
    )
    parser.add_argument("--update", type=pathlib.Path)
    args = parser.parse_args()
    path = args.rows.resolve()
    try:
        expected = {tuple(pair.split(":", 1)) for pair in args.expect.split(",")} if args.expect else EXPECTED
        text, code = report(
            path,
            path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name,
            args.suites,
            args.repetitions,
            expected,
        )
    except BadResults as error:
        print(f"no table of {path}: {error}", file=sys.stderr)
        return FAILED
    if args.update:
        marked.fill(args.update, {"regression": text})
    else:
        print(text, end="")
    return code


if __name__ == "__main__":
    sys.exit(main())
