"""Does the gate find slow-downs of known size in real kernels on this GPU, and nothing where nothing changed?

    gate_evidence.py take RUNGS FOLDER [--cpu] [--repetitions N] [--sessions N] [options of ab]        about three minutes a session; again: goes on
    gate_evidence.py keep OUT.jsonl FOLDER                                            of these rows, what the table needs
    gate_evidence.py table OUT.jsonl [--update docs/data/gates.md]

take: three sessions of `rungs ab`, whose programs are this script in front of RUNGS: they run a kernel of each of four ops on three inputs. NEW has 3, 5 or 10% more
elements in the first of them, under the name of the size without; each kernel gets each percentage in one session. The rest is the real gate: the order, the
stamps, the second stage and the verdict. Rows come without code hashes and launches: times decide. Files that are kept hold of each row the quartiles of its samples.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
PERCENT = (3, 5, 10)
INPUTS = 3  # cases of a kernel, told apart by their seed; the first is slowed
KEPT = (
    "kind",
    "schema",
    "run",
    "case",
    "spec",
    "variant",
    "op",
    "params",
    "dtype",
    "input",
    "seed",
    "backend",
    "bound",
    "verdict",
    "reason",
    "timing",
    "why_not_timed",
    "tunables",
    "threads",
)
# op, the parameter that says how much work there is, how much, other axes, variant: 80 MB or so; and the same with a variant of the CPU, to try this script out
GPU = (
    ("rolling", "n", 5_000_000, "agg: [mean], window: [300], dtype: [f64], input: [uniform]", "cuda_warp_unit"),
    ("ewm", "n", 5_000_000, "span: [300], dtype: [f64], input: [normal]", "cuda_agent_scan"),
    (
        "discounted_cumsum",
        "n",
        10_000_000,
        "batch: [1], gamma: [0.99], dtype: [f32], input: [normal]",
        "cuda_block_scan",
    ),
    (
        "moments",
        "rows",
        40_000,
        "cols: [512], columns: [scaled], dtype: [f32], input: [uniform]",
        "cuda_one_read_shared_shift",
    ),
)
CPU = tuple(
    (op, name, {"rows": 40, "n": 20_000}[name], axes, variant)
    for (op, name, _, axes, _), variant in zip(GPU, ("cpu_online", "cpu_sequential", "cpu_sequential", "cpu_two_pass"))
)
SIZES = {op: name for op, name, *_ in GPU}


def percent_of(session, op):
    """By which the first input of an op is slowed in NEW: each op has each percentage in one of three sessions."""
    return PERCENT[(session + list(SIZES).index(op)) % len(PERCENT)]


def scenario(kernels, session=None):
    """Of BASE; with a session that of NEW."""
    lines = ["title: A kernel of each of four ops on three inputs", "suites:"]
    for op, name, size, axes, variant in kernels:
        slowed = size if session is None else round(size * (1 + percent_of(session, op) / 100))
        tied = ", ".join(f"{{{name}: {size if seed else slowed}, seed: {seed + 1}}}" for seed in range(INPUTS))
        lines.append(
            f"  - {{op: {op}, axes: {{{axes}}}, tied: [{tied}], variants: [{variant}], modes: [cold, hot], bounds: declared}}"
        )
    return "\n".join(lines) + "\n"


def program(rungs, own, words):
    """In place of RUNGS for `rungs ab`: runs its own scenario and gives each row the name of the size without more work."""
    if "--out" not in words:
        os.execv(rungs, [rungs, *words])
    out, given = words.index("--out") + 1, next(k for k, word in enumerate(words) if word.endswith(".yaml"))
    path, part = (
        pathlib.Path(words[out]),
        pathlib.Path(own).with_suffix(f".{os.getpid()}.part"),
    )  # ab may name a file without a folder
    words[out], words[given] = str(part), own
    code = subprocess.run([rungs, *words]).returncode
    with open(path, "a") as file:
        file.writelines(json.dumps(named(line, own), separators=(",", ":")) + "\n" for line in lines_of(part))
    part.unlink(missing_ok=True)
    return code


def named(line, own):
    if line["kind"] != "row":
        return line
    name = SIZES[line["op"]]
    size = re.search(rf"op: {line['op']},.*{name}: (\d+), seed: 2", pathlib.Path(own).read_text())[1]
    case = re.sub(rf"\b{name}=\d+", f"{name}={size}", line["case"])
    return {**line, "case": case, "params": {**line["params"], name: int(size)}, "code": None, "launch": None}


def take(args, options):
    kernels = CPU if args.cpu else GPU
    args.folder.mkdir(parents=True, exist_ok=True)
    base = args.folder / "base.yaml"
    base.write_text(scenario(kernels))
    for session in range(1, args.sessions + 1):
        out, new = args.folder / str(session), args.folder / f"new-{session}.yaml"
        if (out / "done").exists():
            continue
        new.write_text(scenario(kernels, session))
        for path, own in ((out / "base", base), (out / "new", new)):
            path.parent.mkdir(exist_ok=True)
            path.write_text(
                f'#!/bin/sh\nexec "{sys.executable}" "{pathlib.Path(__file__).resolve()}" program "{args.rungs.resolve()}" "{own.resolve()}" "$@"\n'
            )
            path.chmod(0o755)
        for path in out.glob(
            "*.jsonl"
        ):  # a session that was cut off is made anew: its order was to be random as a whole
            path.unlink()
        words = [
            args.rungs,
            "ab",
            out / "base",
            out / "new",
            base,
            "--seed",
            session,
            "--repetitions",
            args.repetitions,
            "--out",
            out,
            *options,
        ]
        with open(out / "ab.txt", "w") as told:
            code = subprocess.run(list(map(str, words)), stdout=told, stderr=subprocess.STDOUT).returncode
        made = [
            sum(line["kind"] == "environment" and line["ab"]["stage"] == 1 for line in lines_of(out / f"{side}.jsonl"))
            for side in ("base", "new")
        ]
        print(f"session {session}: exit code {code}, {made[0]} and {made[1]} processes", flush=True)
        if (
            made != [args.repetitions] * 2
        ):  # whether or not ab could compare them: that takes Python with SciPy, which may be elsewhere
            sys.exit((out / "ab.txt").read_text()[-3000:])
        (out / "done").touch()


def thinned(line):
    """A row with the quartiles of its samples in each mode, and without what no comparison of times needs."""
    if line["kind"] != "row":
        return line
    modes = {
        name: {**mode, **{key: quartiles_of(mode.get(key)) for key in ("samples", "sm_mhz")}} if mode else mode
        for name, mode in (line.get("timing") or {}).items()
    }
    return {**{key: line[key] for key in KEPT if key in line}, "timing": modes or line.get("timing")}


def quartiles_of(values):
    """Their median is that of the values."""
    known = [value for value in values or [] if value is not None]
    return statistics.quantiles(known, n=4, method="inclusive") if len(known) > 3 else values


def lines_of(path):
    return [json.loads(text) for text in path.read_text().splitlines()] if path.exists() else []


def keep(args):
    lines = [
        line
        for path in sorted(args.folder.glob("[0-9]/*.jsonl"))
        for line in lines_of(path)
        if line["kind"] in ("row", "environment")
    ]
    args.rows.write_text("".join(json.dumps(thinned(line), separators=(",", ":")) + "\n" for line in lines))


def sessions_of(lines):
    """seed of the session -> its comparisons."""
    from analysis.compare.__main__ import arguments_of, compare

    stamps = {line["run"]: line["ab"] for line in lines if line["kind"] == "environment"}
    found = {}
    for seed in sorted({stamp["seed"] for stamp in stamps.values()}):
        with tempfile.TemporaryDirectory() as folder:
            paths = {side: pathlib.Path(folder) / f"{side}.jsonl" for side in ("base", "new")}
            for side, path in paths.items():
                path.write_text(
                    "".join(
                        json.dumps(line) + "\n"
                        for line in lines
                        if (stamps[line["run"]]["seed"], stamps[line["run"]]["side"]) == (seed, side)
                    )
                )
            found[seed] = compare(arguments_of([*map(str, paths.values()), "--modes", "cold,hot"]))[0]
    return found


def table(path):
    from analysis.format import change

    lines = lines_of(path)
    sessions = sessions_of(lines)
    first = next(line for line in lines if line["kind"] == "environment")
    equal, slowed = [], {}
    for seed, comparisons in sessions.items():
        for c in comparisons:
            if c.case.endswith("seed=1"):
                slowed.setdefault((c.spec, c.mode), {})[percent_of(seed, c.spec.split("/")[0])] = (
                    f"{change(c.time_ratio)} {c.verdict}"
                )
            else:
                equal.append(c)
    finds = sorted(c.detectable or float("inf") for c in equal)
    share = [
        f"{100 * (size - 1):.1f}%" if size < 10 else "nothing below tenfold"
        for size in (finds[int(q * (len(finds) - 1))] for q in (0.5, 0.9))
    ]
    gpu = first.get("gpu") or {"name": (first.get("cpu") or {}).get("model"), "driver": "-"}
    processes = first["ab"]["of"] // 2
    alarms = sum(c.verdict in ("slower", "faster", "wrong", "missing", "not comparable") for c in equal)
    name = path.resolve().relative_to(ROOT) if path.resolve().is_relative_to(ROOT) else path.name
    return (
        "\n".join(
            [
                f"{gpu['name']}, driver {gpu['driver']}, commit {(first.get('commit') or 'unknown')[:7]}, {len(sessions)} sessions of `rungs ab` with {processes} processes a side; rows: `{name}`.",
                "",
                "| nothing changed: comparisons | in random order | false alarms | same | ambiguous | largest change | could have shown: half of the rows, nine of ten |",
                "|---:|---:|---:|---:|---:|---:|---:|",
                f"| {len(equal)} | {sum(c.randomised for c in equal)} | {alarms} | {sum(c.verdict == 'same' for c in equal)} | {sum(c.verdict == 'ambiguous' for c in equal)} | "
                f"{100 * max((abs(c.time_ratio - 1) for c in equal if c.time_ratio), default=0):.1f}% | {share[0]}, {share[1]} |",
                "",
                "| variant | mode | 3% more elements | 5% | 10% |",
                "|---|---|---:|---:|---:|",
                *(
                    f"| `{spec}` | {mode} | "
                    + " | ".join(cells.get(percent, "not measured") for percent in PERCENT)
                    + " |"
                    for (spec, mode), cells in sorted(slowed.items())
                ),
            ]
        )
        + "\n"
    )


def main():
    if sys.argv[1:2] == ["program"]:
        return program(sys.argv[2], sys.argv[3], sys.argv[4:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    taking = verbs.add_parser("take")
    taking.add_argument("rungs", type=pathlib.Path)
    taking.add_argument("folder", type=pathlib.Path)
    taking.add_argument("--cpu", action="store_true")
    taking.add_argument("--repetitions", type=int, default=10)
    taking.add_argument("--sessions", type=int, default=len(PERCENT))
    keeping = verbs.add_parser("keep")
    keeping.add_argument("rows", type=pathlib.Path)
    keeping.add_argument("folder", type=pathlib.Path)
    making = verbs.add_parser("table")
    making.add_argument("rows", type=pathlib.Path)
    making.add_argument("--update", type=pathlib.Path)
    args, options = parser.parse_known_args()
    if args.verb == "take":
        return take(args, options)
    if options:
        parser.error(f"unknown: {options}")
    if args.verb == "keep":
        return keep(args)
    text = table(args.rows)
    if args.update:
        sys.path.insert(0, str(ROOT / "tests/scripts"))
        import marked

        marked.fill(args.update, {"gate_evidence": text})
    else:
        print(text, end="")


if __name__ == "__main__":
    sys.exit(main())
