"""Does the gate find slow-downs of known size in real kernels on this GPU, and nothing where nothing changed?

    gate_evidence.py take RUNGS OUT.jsonl [--seconds S] [--processes N] [options of run]   runs processes until there is no time or N are there; again: goes on
    gate_evidence.py table OUT.jsonl [--suites N] [--repetitions N]                        prints the table of docs/COMPARISON.md

Every process times real kernels at a size and at sizes 3, 5 and 10% above it (gate_evidence.yaml). A/A: suites of processes at the first size, sides
drawn at random. Slow-downs: NEW's rows are those of a larger size, under the name of the first, one variant at a time. Code hashes are left out:
times decide. Where there are too few processes for all suites, suites are random splits of the same ones, and the table says so.
"""
import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
SIZES = (0, 3, 5, 10)
KEPT = ("kind", "schema", "run", "case", "spec", "variant", "op", "params", "dtype", "input", "seed", "backend", "bound", "verdict", "reason", "timing",
        "why_not_timed", "tunables")


def take(args, options):
    """Whole processes only; rows without what no comparison needs."""
    deadline = time.monotonic() + args.seconds
    part, number = args.rows.with_suffix(".part"), count(args.rows)
    while number < args.processes:
        part.unlink(missing_ok=True)
        words = [args.rungs, "run", *(options or [ROOT / "tests/gpu/gate_evidence.yaml", "--quick"]), "--no-ceilings", "--out", part]
        try:
            done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=max(1.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            break
        if done.returncode not in (0, 1):
            sys.exit(f"exit code {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        lines = [json.loads(text) for text in part.read_text().splitlines()]
        with open(args.rows, "a") as file:
            for line in lines:
                if line["kind"] in ("row", "environment"):
                    file.write(json.dumps({k: line[k] for k in KEPT if k in line} if line["kind"] == "row" else line, separators=(",", ":")) + "\n")
        number += 1
    part.unlink(missing_ok=True)
    print(f"{number} of {args.processes} processes")


def count(path):
    return sum('"kind":"environment"' in line for line in open(path)) if path.exists() else 0


class Processes:
    """runs: of each process its environment and rows[percent][spec, case of the first size]."""

    def __init__(self, path):
        self.runs = {}
        for text in open(path):
            line = json.loads(text)
            if line["kind"] == "environment":
                self.runs[line["run"]] = (line, {percent: {} for percent in SIZES})
        rows = [line for line in map(json.loads, open(path)) if line["kind"] == "row"]
        sizes = sorted({row["params"]["n"] for row in rows})
        self.first = sizes[0]
        percent = {n: min(SIZES, key=lambda p: abs(p - 100 * (n / sizes[0] - 1))) for n in sizes}
        for row in rows:
            name = re.sub(r"\bn=\d+", f"n={self.first}", row["case"])
            self.runs[row["run"]][1][percent[row["params"]["n"]]][row["spec"], name] = {**row, "case": name, "params": {**row["params"], "n": self.first}}

    def lines(self, runs, side, seed, slowed=None, percent=0):
        """Of one side: environments and rows; slowed: the spec whose rows are those of more work."""
        for place, run in enumerate(runs):
            environment, rows = self.runs[run]
            note = f"{side}, process {place + 1} of {2 * len(runs)}, seed {seed}"
            yield {**environment, "variables": {"RUNGS_AB": note}, "argv": ["run"]}
            for key, row in rows[0].items():
                more = rows[percent].get(key) if key[0] == slowed else row
                if more:
                    yield more


def judged(folder, base, new):
    from analysis.compare.__main__ import arguments_of, compare
    paths = [folder / f"{name}.jsonl" for name in ("base", "new")]
    for path, lines in zip(paths, (base, new)):
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return compare(arguments_of([*map(str, paths), "--modes", "cold,hot"]))[0]


def table(args):
    import tempfile

    from analysis.format import change
    processes = Processes(args.rows)
    runs, size = list(processes.runs), 2 * args.repetitions
    if len(runs) < size:
        return f"{len(runs)} processes: at least {size} are needed"
    apart = len(runs) >= size * args.suites
    alarms, told, lines = 0, [], []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for suite in range(args.suites):
            rng = random.Random(suite)
            part = runs[suite * size:(suite + 1) * size] if apart else rng.sample(runs, size)
            rng.shuffle(part)
            found = judged(folder, processes.lines(part[:args.repetitions], "base", suite), processes.lines(part[args.repetitions:], "new", suite))
            alarms += any(c.verdict in ("slower", "faster") for c in found)
            told += found
        rng = random.Random(-1)
        part = rng.sample(runs, size)
        for spec in sorted({c.spec for c in told}):
            cells = []
            for percent in SIZES[1:]:
                found = [c for c in judged(folder, processes.lines(part[:args.repetitions], "base", percent),
                                           processes.lines(part[args.repetitions:], "new", percent, spec, percent)) if c.spec == spec]
                cells.append("; ".join(f"{c.mode} {change(c.ratio)} {c.verdict}" for c in found))
            finds = max((c.detectable for c in told if c.spec == spec and c.detectable), default=None)
            lines.append(f"| `{spec}` | {' | '.join(cells)} | {100 * (finds - 1):.1f}% |" if finds else f"| `{spec}` | {' | '.join(cells)} | - |")
    first = processes.runs[runs[0]][0]
    gpu = first.get("gpu") or {"name": (first.get("cpu") or {}).get("model"), "driver": "-"}
    return "\n".join([
        f"{gpu['name']}, driver {gpu['driver']}, commit {(first.get('commit') or 'unknown')[:7]}, {len(runs)} processes, {args.repetitions} a side; rows: "
        f"`{args.rows.name}`.", "",
        f"Nothing changed: {args.suites} suites{'' if apart else ' (random splits of these processes)'} of {len(told) // args.suites} comparisons, {alarms} with a "
        f"false alarm; {sum(c.verdict == 'same' for c in told)} `same`, {sum(c.verdict == 'ambiguous' for c in told)} `ambiguous`.", "",
        "| variant | 3% more work | 5% | 10% | could have shown, at worst |", "|---|---|---|---|---:|", *lines])


def main():
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(dest="verb", required=True)
    taking = verbs.add_parser("take")
    taking.add_argument("rungs")
    taking.add_argument("rows", type=pathlib.Path)
    taking.add_argument("--seconds", type=float, default=540)
    taking.add_argument("--processes", type=int, default=400)
    making = verbs.add_parser("table")
    making.add_argument("rows", type=pathlib.Path)
    making.add_argument("--suites", type=int, default=20)
    making.add_argument("--repetitions", type=int, default=10)
    args, options = parser.parse_known_args()
    if args.verb == "take":
        os.environ.pop("RUNGS_AB", None)
        take(args, options)
    elif options:
        parser.error(f"unknown: {options}")
    else:
        print(table(args))


if __name__ == "__main__":
    main()
