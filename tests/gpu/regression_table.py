"""What tests/gpu/regression.sh found, as the table of docs/METHOD.md: suites in which nothing changed, and slow-downs of known size.

    regression_table.py ROWS.jsonl [--suites N] [--repetitions N]      prints it; exit codes: regression.sh --help
    regression_table.py ROWS.jsonl --update docs/METHOD.md             writes it between the page's markers `regression`
"""
import argparse
import json
import pathlib
import random
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "compare"), str(ROOT / "plots")]
from compare import arguments_of, compare  # noqa: E402
from lines import BadResults  # noqa: E402
from phrases import change, interval  # noqa: E402

from markdown import fill  # noqa: E402

SENSITIVE = "1%"
PERCENT = (3, 5, 10)
FOUND, LOST, INCOMPLETE, FAILED = 0, 1, 3, 4
ALARMS = ("slower", "faster", "wrong", "missing")


class Rows:
    """equal: the lines of each run, in order; slowed[percent][side]: the same of `rungs ab` with that seed; environment: one of them."""

    def __init__(self, path):
        runs, place, self.environment = {}, {}, None
        for text in pathlib.Path(path).read_text().splitlines():
            line = json.loads(text)
            runs.setdefault(line["run"], []).append(text)
            if line["kind"] == "environment":
                self.environment = line
                place[line["run"]] = line["variables"].get("RUNGS_AB", "")
        self.equal, self.slowed = [], {percent: {"base": [], "new": []} for percent in PERCENT}
        for run, lines in runs.items():
            told = place.get(run, "")
            side = re.fullmatch(r"(base|new), process \d+ of \d+, seed (\d+)", told)
            if side:
                self.slowed[int(side.group(2))][side.group(1)].append(lines)
            elif told.startswith("equal"):
                self.equal.append(lines)


def judged(base, new, *words):
    """The comparisons of two lists of runs; none where a side is empty."""
    if not base or not new:
        return []
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder) / f"{name}.jsonl" for name in ("base", "new")]
        for path, runs in zip(paths, (base, new)):
            path.write_text("".join(text + "\n" for run in runs for text in run))
        return compare(arguments_of([*map(str, paths), "--modes", "cold,hot,graph", *words]))[0]


def equal_suites(runs, repetitions, suites):
    """Consecutive processes, their sides drawn at random. Where there are too few for all suites, neighbouring suites share some."""
    size = 2 * repetitions
    stride = size if len(runs) >= size * suites else max(1, (len(runs) - size) // max(1, suites - 1))
    for number in range(suites):
        part = runs[number * stride:number * stride + size]
        if len(part) < size:
            return
        random.Random(number).shuffle(part)
        yield judged(part[:repetitions], part[repetitions:])


def equal_table(rows, repetitions, suites):
    """(lines, false alarms, how many suites there were)"""
    found = list(equal_suites(rows.equal, repetitions, suites))
    told = [c for suite in found for c in suite]
    alarms = sum(any(c.verdict in ALARMS for c in suite) for suite in found)
    counts = " | ".join(str(sum(c.verdict == verdict for c in told)) for verdict in ("same", "ambiguous"))
    largest = change(max((c.ratio for c in told if c.ratio), key=lambda ratio: abs(ratio - 1), default=None))
    shared = "" if not found or len(rows.equal) >= 2 * repetitions * suites else " (neighbouring suites share some)"
    return ["| nothing changed: processes | suites | comparisons | suites with a false alarm | same | ambiguous | largest change |", "|---:|---:|---:|---:|---:|---:|---:|",
            f"| {len(rows.equal)}{shared} | {len(found)} of {suites} | {len(told)} | {alarms} | {counts} | {largest} |"], alarms, len(found)


def slowed_table(rows, repetitions):
    """(lines, slow-downs that were not found, whether all were measured)"""
    lines = [f"| extra work | variant | case | mode | processes | change | 95% interval | verdict | at `--min-effect {SENSITIVE}` |", "|---:|---|---|---|---:|---:|---:|---|---|"]
    lost, whole = 0, True
    for percent, sides in rows.slowed.items():
        usual, sensitive = (judged(sides["base"], sides["new"], *words) for words in ([], ["--min-effect", SENSITIVE]))
        full = all(len(runs) >= repetitions for runs in sides.values()) and bool(usual)
        whole = whole and full
        for c, other in zip(usual, sensitive):
            size = re.search(r"\bn=(\d+)", c.case).group(1)
            lines.append(f"| {percent}% | `{c.spec}` | n={size} | {c.mode} | {c.base_processes} and {c.new_processes} | {change(c.ratio)} | {interval(c)} | {c.verdict} | {other.verdict} |")
            lost += full and (other.verdict != "slower" or (percent > 3 and c.verdict != "slower"))
        if not usual:
            lines.append(f"| {percent}% | not measured | | | | | | | |")
    return lines, lost, whole


def where(rows, path):
    e = rows.environment
    if e is None:
        return "Nothing was measured."
    gpu = e["gpu"]
    device = f"{gpu['name']}, driver {gpu['driver']}" if gpu else f"{e['cpu']['model']}, no GPU"
    return f"{device}, commit {(e['commit'] or 'unknown')[:7]}{' with changes' if e['dirty'] else ''}; rows: `{path}`."


def report(path, name, suites, repetitions):
    """(text, exit code)"""
    rows = Rows(path)
    equal, alarms, made = equal_table(rows, repetitions, suites)
    slowed, lost, whole = slowed_table(rows, repetitions)
    complete = whole and made == suites and len(rows.equal) >= 2 * repetitions * suites
    end = f"{alarms} false alarms, {lost} slow-downs not found" + ("." if complete else "; not all was measured in the time that there was.")
    return "\n".join([where(rows, name), "", *equal, "", *slowed, "", end]) + "\n", LOST if alarms or lost else FOUND if complete else INCOMPLETE


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", type=pathlib.Path)
    parser.add_argument("--suites", type=int, default=20)
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--update", type=pathlib.Path)
    args = parser.parse_args()
    path = args.rows.resolve()
    try:
        text, code = report(path, path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name, args.suites, args.repetitions)
    except BadResults as error:
        print(f"no table of {path}: {error}", file=sys.stderr)
        return FAILED
    if args.update:
        args.update.write_text(fill(args.update.read_text(), {"regression": text}, args.update)[0])
    else:
        print(text, end="")
    return code


if __name__ == "__main__":
    sys.exit(main())
