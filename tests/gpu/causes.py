#!/usr/bin/env python3
"""Kernels that are slow for one known reason, or for none: does analysis/why.py name it?

usage: causes.py BUILD_FOLDER ROWS [VARIANT]   runs the kernels of tests/mutants/double/VARIANT.cu (without it: all) and keeps what why.py
                                               reads of their rows in ROWS, as tests/golden/causes.jsonl has it
       causes.py ROWS                          asks why.py again

Exit code 0: of each variant as many are named, and so few without a cause named, as SETS says; 1: not; 77: no GPU."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))
from analysis import why  # noqa: E402

CASE = "double n=30000000 dtype=f64"
# With what the sentence of cause=0, 1, ... begins; () where nothing was planted; None: there is no such kernel.
NAMED = (
    (),
    *(("spills",), ("bank conflicts",), ("sectors", "bytes"), ("tail",), ("launch",)),
    *(("waits",), ("occupancy",), ("bytes",), ("sectors",), ("tail",)),
)
# Written down before the author had read why.py; instructions are no planted cause.
BLIND = (
    (),
    *(("spills",), ("registers", "occupancy"), ("occupancy",), ("bytes",), ("sectors", "bytes")),
    *(("bank conflicts",), ("tail",), ("launch",), ("waits",), ("waits",)),
    *((),) * 9,
)
SETS = {  # the rules were made with the first; the least that are named, the most of those without a cause that are
    "cuda_causes": (NAMED, 9, 0),
    "cuda_more_causes": ((None, *NAMED[1:]), 8, 0),
    "cuda_blind_causes": (BLIND, 8, 1),
}
ARITHMETIC = 18, 19  # of BLIND: bound by instructions, which a sentence may say
KEPT = "case", "variant", "spec", "dtype", "tunables", "verdict", "reason", "counts", "counts_reason"


def kept(row):
    cold = (row["timing"] or {}).get("cold") or {}
    return {**{key: row[key] for key in KEPT}, "timing": {"cold": {key: cold.get(key) for key in ("median", "limit")}}}


def run(build, rows, variants):
    specs = [f"{v} cause={k}" for v in variants for k, planted in enumerate(SETS[v][0]) if planted is not None]
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "rows.jsonl"
        words = ["run", CASE, "--variants", ",".join(specs), "--quick", "--bits", "3", "--out", out]
        subprocess.run([build / "tests/rungs-mutants", *words])
        lines = [json.loads(line) for line in out.read_text().splitlines()]
    rows.write_text("".join(json.dumps(kept(line)) + "\n" for line in lines if line["kind"] == "row"))


def answers(rows, variant):
    """(cause, what its sentence should begin with, the sentence or "", whether that is so) of each row of the variant."""
    for row in rows:
        if row["variant"] != f"double/{variant}":
            continue
        cause, text = row["tunables"]["cause"], why.sentence(row) or ""
        expected = SETS[variant][0][cause]
        silent = (
            not text or (variant, cause) in {("cuda_blind_causes", k) for k in ARITHMETIC} and text.startswith("instr")
        )
        yield cause, expected, text, text.startswith(expected) if expected else silent


def holds(rows, variant):
    """All of its kernels have a row, and as many sentences are right as SETS says."""
    planted, least, most = SETS[variant]
    found = list(answers(rows, variant))
    named = sum(right for _, expected, _, right in found if expected)
    wrongly = sum(not right for _, expected, _, right in found if not expected)
    whole = len(found) == sum(expected is not None for expected in planted)
    return whole and named >= least and wrongly <= most


def main():
    if len(sys.argv) not in (2, 3, 4) or not set(sys.argv[3:]) <= SETS.keys():
        print(__doc__)
        return 2
    path = pathlib.Path(sys.argv[1] if len(sys.argv) == 2 else sys.argv[2])
    if len(sys.argv) > 2:
        if not shutil.which("nvidia-smi") or subprocess.run(["nvidia-smi", "-L"], capture_output=True).returncode != 0:
            print("skipped: no GPU")
            return 77
        run(pathlib.Path(sys.argv[1]), path, sys.argv[3:] or SETS)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    verdicts = []
    for variant in sys.argv[3:] or [v for v in SETS if len(sys.argv) > 2 or any(answers(rows, v))]:
        for cause, expected, text, right in answers(rows, variant):
            print(
                f"{'ok  ' if right else 'FAIL'}  {variant} {cause} {' or '.join(expected) or 'nothing'}: {text or '-'}"
            )
        verdicts.append(holds(rows, variant))
    return 0 if verdicts and all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
