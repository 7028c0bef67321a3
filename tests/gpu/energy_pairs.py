#!/usr/bin/env python3
"""How far apart are the joules of equal kernels? One kernel is measured TRIES times, on other numbers each time (8 s each).

usage: energy_pairs.py BUILD_FOLDER [TRIES=12]

Exit code 0: 95% of the pairs differ in less than 3%; 1: not; 77: no GPU, or no counter."""

import itertools
import json
import math
import pathlib
import subprocess
import sys
import tempfile

CLOSE, SHARE = 0.03, 0.95


def close(joules):
    """Share of the pairs that differ in less than CLOSE."""
    pairs = list(itertools.combinations(joules, 2))
    return sum(abs(math.log(a / b)) < math.log1p(CLOSE) for a, b in pairs) / len(pairs)


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__)
        return 2
    tries = int(sys.argv[2]) if len(sys.argv) == 3 else 12
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "rows.jsonl"
        cases = [f"double n=30000000 dtype=f64 seed={seed}" for seed in range(1, tries + 1)]
        options = ["--variants", "cuda_vector", "--quick", "--no-ceilings", "--energy", "--out", out]
        subprocess.run([pathlib.Path(sys.argv[1]) / "bin/rungs", "run", *cases, *options])
        told = [json.loads(line).get("energy") or {} for line in out.read_text().splitlines()]
    joules = [energy["joules"] for energy in told if energy.get("joules")]
    if len(joules) < tries:
        print("skipped:", next((energy["reason"] for energy in told if "reason" in energy), "no GPU"))
        return 77
    print(
        f"mJ a call: {', '.join(f'{1e3 * j:.4g}' for j in joules)}; {100 * close(joules):.0f}% of pairs differ in less than 3%"
    )
    return 0 if close(joules) >= SHARE else 1


if __name__ == "__main__":
    sys.exit(main())
