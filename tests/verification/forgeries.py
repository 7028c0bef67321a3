"""forgeries.py - six ways to forge a clock, on the CPU in the mode hot: how many rows get a time, and which share of the honest one. Kept in
forgeries.json.

    python3 tests/verification/forgeries.py RUNGS_MUTANTS [RUNS]    measure again, some minutes each run
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

KEPT = pathlib.Path(__file__).with_name("forgeries.json")
UNKEPT = {"LD_PRELOAD": "libm.so.6"}  # a preloaded library takes the protection of the worker's code and clock away
# Mutant, calls of cpu_right that one of it computes, elements for calls of 50 to 150 us and of 1 to 3 ms, is code kept, how.
TRIED = [
    ("cpu_slow_clock", 1, (350003, 5000011), True, "clock_gettime interposed"),
    ("cpu_slow_clock", 1, (350003, 5000011), False, "the same, where memory of the code can be written"),
    ("cpu_slow_clock_briefly", 1, (350003, 5000011), False, "in short runs of calls only"),
    ("cpu_cheat_clock_data", 1, (350003, 5000011), True, "vDSO patched"),
    ("cpu_cheat_clock_data", 1, (350003, 5000011), False, "the same, where its pages can be replaced"),
    ("cpu_cheat_rewrites_hot", 8, (60013, 1000003), True, "stored samples rewritten"),
    ("cpu_cheat_forged_reply", 1, (350003, 5000011), True, "reply forged"),
    ("cpu_cheat_counts_calls", 1, (350003, 5000011), True, "calls skipped by count"),
    ("cpu_cheat_knows_last", 8, (60013,), True, "calls skipped, the last one known"),
    ("cpu_cheat_warm_up", 1, (350003, 5000011), True, "none, for comparison"),
]


def one_run(program, n, names, kept):
    """{mutant: (verdict, share of cpu_right's median, None: no time)}"""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "rows.jsonl"
        words = ("--variants", ",".join(("cpu_right", *names)), "--no-ceilings", "--out", out)
        environment = os.environ | ({} if kept else UNKEPT)
        subprocess.run([program, "run", f"double n={n}", *words], capture_output=True, env=environment)
        rows = {row["variant"].split("/")[1]: row for row in map(json.loads, out.open()) if row["kind"] == "row"}
    hot = {name: row["timing"]["hot"]["median"] if row["timing"] else None for name, row in rows.items()}
    return {
        name: (rows[name]["verdict"], hot[name] and hot["cpu_right"] and hot[name] / hot["cpu_right"]) for name in names
    }


def measure(program, runs):
    found = []
    for n, kept in sorted({(n, kept) for _, _, sizes, kept, _ in TRIED for n in sizes}):
        group = [entry for entry in TRIED if n in entry[2] and kept is entry[3]]
        seen = [one_run(program, n, [entry[0] for entry in group], kept) for _ in range(runs)]
        for mutant, calls, _, _, how in group:
            shares = sorted(run[mutant][1] / calls for run in seen if run[mutant][1])
            passed = sum(run[mutant][0] == "pass" for run in seen)
            found.append({"mutant": mutant, "how": how, "n": n, "runs": runs, "passed": passed, "shares": shares})
    KEPT.write_text(json.dumps(found, indent=1) + "\n")


def lines():
    """Of the table: how, mutant, elements, rows with a time, its share of the honest time (median; least and largest)."""
    for entry in sorted(json.loads(KEPT.read_text()), key=lambda e: ([t[4] for t in TRIED].index(e["how"]), e["n"])):
        timed = entry["shares"]
        share = f"{statistics.median(timed):.2f} ({timed[0]:.2f} to {timed[-1]:.2f})" if timed else ""
        yield [entry["how"], f"`{entry['mutant']}`", str(entry["n"]), f"{entry['passed']} of {entry['runs']}", share]


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    measure(sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 10)
