"""Does the gate find slow-downs of known size in real kernels on this GPU, and nothing where nothing changed?

    gate_evidence.py take RUNGS OUT.jsonl [--seconds S] [--processes N] [options of run]      again: goes on
    gate_evidence.py keep OUT.jsonl ROWS.jsonl...                      of processes that `rungs ab` took of one build, what the table needs
    gate_evidence.py table SLOWED.jsonl [--equal EQUAL.jsonl] [--suites N] [--repetitions N] [--update docs/COMPARISON.md]

take: each process times kernels at a size and at sizes 3, 5 and 10% above it (gate_evidence.yaml). Slow-downs: NEW's rows are those of a larger size under
the name of the first, one variant at a time. Nothing changed: suites of processes at the first size (or those of --equal), sides drawn at random. Where there are
too few processes for all suites, suites are random splits of the same ones, and the table says so. Files hold of each row the quartiles of its samples, and no
code hashes: times decide.
"""
import argparse
import json
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
PERCENT = (0, 3, 5, 10)
SIZES = ("n", "rows")  # parameters that say how much work there is
KEPT = ("kind", "schema", "run", "case", "spec", "variant", "op", "params", "dtype", "input", "seed", "backend", "bound", "verdict", "reason", "timing",
        "why_not_timed", "tunables")


def thinned(line):
    """A row with the quartiles of its samples in each mode, and without what no comparison of times needs."""
    if line["kind"] != "row":
        return line
    modes = {name: {**mode, **{key: quartiles_of(mode.get(key)) for key in ("samples", "sm_mhz")}} if mode else mode for name, mode in (line.get("timing") or {}).items()}
    return {**{key: line[key] for key in KEPT if key in line}, "timing": modes or line.get("timing")}


def quartiles_of(values):
    """Their median is that of the values."""
    known = [value for value in values or [] if value is not None]
    return statistics.quantiles(known, n=4, method="inclusive") if len(known) > 3 else values


def append(path, lines):
    with open(path, "a") as file:
        file.writelines(json.dumps(thinned(line), separators=(",", ":")) + "\n" for line in lines if line["kind"] in ("row", "environment"))


def lines_of(path):
    return [json.loads(text) for text in path.read_text().splitlines()] if path.exists() else []


def take(args, options):
    """Whole processes only."""
    deadline, part = time.monotonic() + args.seconds, args.rows.with_suffix(".part")
    number = sum(line["kind"] == "environment" for line in lines_of(args.rows))
    words = [args.rungs, "run", *(options or [ROOT / "tests/gpu/gate_evidence.yaml"]), "--no-ceilings", "--out", part]
    while number < args.processes and time.monotonic() < deadline:
        part.unlink(missing_ok=True)
        try:
            done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=max(1.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            break
        if done.returncode not in (0, 1):
            sys.exit(f"exit code {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        append(args.rows, lines_of(part))
        number += 1
        print(f"{args.seconds - (deadline - time.monotonic()):.0f} s: {number} of {args.processes} processes", flush=True)
    part.unlink(missing_ok=True)


def size_of(row):
    return next(name for name in SIZES if name in row["params"])


class Processes:
    """runs: of each process its environment and rows[percent][spec, case of the first size]. whole: every case is a first size."""

    def __init__(self, path, whole=False):
        lines = lines_of(path)
        rows = [line for line in lines if line["kind"] == "row"]
        self.runs = {line["run"]: (line, {percent: {} for percent in PERCENT}) for line in lines if line["kind"] == "environment"}
        first = {}
        for row in rows:
            first[row["op"]] = min(first.get(row["op"], row["params"][size_of(row)]), row["params"][size_of(row)])
        for row in rows:
            name = size_of(row)
            base = row["params"][name] if whole else first[row["op"]]
            percent = min(PERCENT, key=lambda p: abs(p - 100 * (row["params"][name] / base - 1)))
            case = re.sub(rf"\b{name}=\d+", f"{name}={base}", row["case"])
            self.runs[row["run"]][1][percent][row["spec"], case] = {**row, "case": case, "params": {**row["params"], name: base}}

    def lines(self, runs, side, seed, slowed=None, percent=0):
        """Of one side: environments and rows; slowed: the spec whose rows are those of more work."""
        for place, run in enumerate(runs):
            environment, rows = self.runs[run]
            yield {**environment, "variables": {"RUNGS_AB": f"{side}, process {place + 1} of {2 * len(runs)}, seed {seed}"}, "argv": ["run"]}
            for key, row in rows[0].items():
                more = rows[percent].get(key) if key[0] == slowed else row
                if more:
                    yield more

    def judged(self, part, seed, slowed=None, percent=0):
        """The comparisons of the first half with the second; there the spec is slowed."""
        from analysis.compare.__main__ import arguments_of, compare
        half = len(part) // 2
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder) / f"{name}.jsonl" for name in ("base", "new")]
            for path, lines in zip(paths, (self.lines(part[:half], "base", seed), self.lines(part[half:], "new", seed, slowed, percent))):
                path.write_text("".join(json.dumps(line) + "\n" for line in lines))
            return compare(arguments_of([*map(str, paths), "--modes", "cold,hot"]))[0]


def equal_table(processes, suites, size):
    """(lines, comparisons)"""
    runs, told, alarms, largest = list(processes.runs), [], 0, 0.0
    apart = len(runs) >= size * suites
    for suite in range(suites):
        rng = random.Random(suite)
        part = runs[suite * size:(suite + 1) * size] if apart else rng.sample(runs, size)
        rng.shuffle(part)
        found = processes.judged(part, suite)
        alarms += any(c.verdict in ("slower", "faster", "wrong", "missing") for c in found)
        told += found
        largest = max([largest, *(abs(c.ratio - 1) for c in found if c.ratio)])
    finds = sorted(c.detectable or float("inf") for c in told)
    sizes = (finds[int(q * (len(finds) - 1))] for q in (0.5, 0.9))
    share = [f"{100 * (size - 1):.1f}%" if size < 10 else "nothing below tenfold" for size in sizes]
    how = "" if apart else ", random splits of these processes"
    return ["| nothing changed: processes | suites | comparisons of each | suites with a false alarm | same | ambiguous | largest change | could have shown: half of the rows, nine of ten |",
            "|---:|---:|---:|---:|---:|---:|---:|---:|",
            f"| {len(runs)} | {suites}{how} | {len(told) // suites} | {alarms} | {sum(c.verdict == 'same' for c in told)} | {sum(c.verdict == 'ambiguous' for c in told)} | "
            f"{100 * largest:.1f}% | {share[0]}, {share[1]} |"]


def slowed_table(processes, size):
    from analysis.format import change
    part = random.Random(0).sample(list(processes.runs), size)
    specs = sorted({spec for _, rows in processes.runs.values() for spec, _ in rows[0]})
    lines = ["| variant | mode | 3% more elements | 5% | 10% |", "|---|---|---:|---:|---:|"]
    for spec in specs:
        cells = {}
        for percent in PERCENT[1:]:
            for c in processes.judged(part, percent, spec, percent):
                if c.spec == spec:
                    cells.setdefault(c.mode, []).append(f"{change(c.ratio)} {c.verdict}")
        lines += [f"| `{spec}` | {mode} | {' | '.join(told)} |" for mode, told in cells.items()]
    return lines


def machine(processes):
    first = next(iter(processes.runs.values()))[0]
    gpu = first.get("gpu") or {"name": (first.get("cpu") or {}).get("model"), "driver": "-"}
    return f"{gpu['name']}, driver {gpu['driver']}, commit {(first.get('commit') or 'unknown')[:7]}"


def table(slowed_path, equal_path, suites, repetitions):
    slowed = Processes(slowed_path)
    equal, names = (Processes(equal_path, whole=True), [equal_path, slowed_path]) if equal_path else (slowed, [slowed_path])
    size = 2 * repetitions
    for path, processes in ((slowed_path, slowed), (equal_path or slowed_path, equal)):
        if len(processes.runs) < size:
            sys.exit(f"{path}: {len(processes.runs)} processes; at least {size} are needed (--repetitions)")
    told = " and ".join(f"`{path.resolve().relative_to(ROOT) if path.resolve().is_relative_to(ROOT) else path.name}`" for path in names)
    return "\n".join([f"{machine(equal)}, {repetitions} processes a side; rows: {told}.", "", *equal_table(equal, suites, size), "", *slowed_table(slowed, size)]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    taking = verbs.add_parser("take")
    taking.add_argument("rungs", type=pathlib.Path)
    taking.add_argument("rows", type=pathlib.Path)
    taking.add_argument("--seconds", type=float, default=540)
    taking.add_argument("--processes", type=int, default=20)
    keeping = verbs.add_parser("keep")
    keeping.add_argument("rows", type=pathlib.Path)
    keeping.add_argument("sources", type=pathlib.Path, nargs="+")
    making = verbs.add_parser("table")
    making.add_argument("rows", type=pathlib.Path)
    making.add_argument("--equal", type=pathlib.Path)
    making.add_argument("--suites", type=int, default=20)
    making.add_argument("--repetitions", type=int, default=10)
    making.add_argument("--update", type=pathlib.Path)
    args, options = parser.parse_known_args()
    if args.verb == "take":
        return take(args, options)
    if options:
        parser.error(f"unknown: {options}")
    if args.verb == "keep":
        args.rows.unlink(missing_ok=True)
        return [append(args.rows, lines_of(path)) for path in args.sources] and None
    text = table(args.rows, args.equal, args.suites, args.repetitions)
    if args.update:
        from analysis.report.markers import fill
        args.update.write_text(fill(args.update.read_text(), {"gate_evidence": text}, args.update)[0])
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
