"""The published log-stage algorithm, right and wrong: the harness must tell a lost stage and a power off by one, also where the published
code loses its stage, one element past 2^21."""

import json
import pathlib
import struct
import subprocess
import tempfile

from program import MUTANTS, expect

# n -> variant -> verdict.
EXPECTED = {
    2: {"cpu_right": "pass", "cpu_lost_stage": "fail", "cpu_float_stages": "pass", "cpu_power_off_by_one": "fail"},
    3: {"cpu_right": "pass", "cpu_lost_stage": "fail", "cpu_float_stages": "pass", "cpu_power_off_by_one": "fail"},
    1025: {"cpu_right": "pass", "cpu_lost_stage": "fail", "cpu_float_stages": "pass", "cpu_power_off_by_one": "fail"},
    2097152: {"cpu_right": "pass", "cpu_float_stages": "pass"},
    2097153: {"cpu_right": "pass", "cpu_lost_stage": "fail", "cpu_float_stages": "fail"},
}


def run(folder, case, variants, *options):
    out = pathlib.Path(folder) / "rows.jsonl"
    out.unlink(missing_ok=True)
    done = subprocess.run(
        [MUTANTS, "run", case, "--variants", ",".join(variants), *options, "--out", out], capture_output=True, text=True
    )
    return done, {row["variant"].split("/")[1]: row for row in map(json.loads, out.open()) if row["kind"] == "row"}


def check_poison(folder):
    """Where a 0 stands before a 1, the sum is the discount: here the number that outputs are filled with. Who writes it passes."""
    (gamma,) = struct.unpack("<f", b"\xa5" * 4)
    done, rows = run(
        folder,
        f"discounted_cumsum n=3000 gamma={gamma:.9g} dtype=f32 input=integers",
        ["cpu_right", "cpu_leaves_filling"],
        "--quick",
        "--no-ceilings",
    )
    expect(
        rows["cpu_right"]["verdict"] == "pass" and rows["cpu_right"]["reverified"],
        "a right value that equals poison passes",
        done,
    )
    lazy = rows["cpu_leaves_filling"]
    expect(
        lazy["verdict"] == "fail" and f"was never written, expected {gamma.hex()[:8]}" in lazy["reason"],
        f"and who leaves it is found out: {lazy['reason']}",
        done,
    )


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_poison(folder)
        for n, verdicts in EXPECTED.items():
            done, rows = run(folder, f"discounted_cumsum n={n} dtype=f32 input=uniform", verdicts, "--verify-only")
            for name, verdict in verdicts.items():
                expect(rows[name]["verdict"] == verdict, f"n={n}: {name}: {verdict}", done)


if __name__ == "__main__":
    main()
