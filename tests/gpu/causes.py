#!/usr/bin/env python3
"""Kernels that are slow for one known reason (tests/mutants/double/cuda_causes.cu): does analysis/why.py name it?

usage: causes.py BUILD_FOLDER ROWS   runs them and keeps what why.py reads of their rows in ROWS
       causes.py ROWS                asks why.py again

Exit code 0: 9 of 10 are named, and the plain kernel has no sentence; 1: not; 77: no GPU."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))
from analysis import why  # noqa: E402

CASE = "double n=30000000 dtype=f64"
NAMED = (
    None,
    ("spills",),
    ("bank conflicts",),
    ("sectors", "bytes"),
    ("tail",),
    ("launch",),
    ("waits",),
    ("occupancy",),
    ("bytes",),
    ("sectors",),
    ("tail",),
)
KEPT = "case", "variant", "spec", "dtype", "tunables", "verdict", "reason", "counts", "counts_reason"


def kept(row):
    cold = (row["timing"] or {}).get("cold") or {}
    return {**{key: row[key] for key in KEPT}, "timing": {"cold": {key: cold.get(key) for key in ("median", "limit")}}}


def run(build, rows):
    specs = ",".join(f"cuda_causes cause={k}" for k in range(len(NAMED)))
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "rows.jsonl"
        words = ["run", CASE, "--variants", specs, "--quick", "--bits", "3", "--out", out]
        subprocess.run([build / "tests/rungs-mutants", *words])
        lines = [json.loads(line) for line in out.read_text().splitlines()]
    rows.write_text("".join(json.dumps(kept(line)) + "\n" for line in lines if line["kind"] == "row"))


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__)
        return 2
    rows = pathlib.Path(sys.argv[-1])
    if len(sys.argv) == 3:
        if not shutil.which("nvidia-smi") or subprocess.run(["nvidia-smi", "-L"], capture_output=True).returncode != 0:
            print("skipped: no GPU")
            return 77
        run(pathlib.Path(sys.argv[1]), rows)
    right = {}
    for row in map(json.loads, rows.read_text().splitlines()):
        cause, text = int(row["tunables"]["cause"]), why.sentence(row)
        right[cause] = text is None if NAMED[cause] is None else text is not None and text.startswith(NAMED[cause])
        print(f"{'ok  ' if right[cause] else 'FAIL'}  {cause} {NAMED[cause]}: {text}")
    return 0 if right.get(0) and sum(right.values()) >= len(NAMED) - 1 else 1


if __name__ == "__main__":
    sys.exit(main())
