"""The published log-stage algorithm, right and wrong: the harness must tell a lost stage and a power off by one, also where the published
code loses its stage, one element past 2^21."""
import json
import pathlib
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


def main():
    with tempfile.TemporaryDirectory() as folder:
        for n, verdicts in EXPECTED.items():
            out = pathlib.Path(folder) / f"{n}.jsonl"
            done = subprocess.run([MUTANTS, "run", f"discounted_cumsum n={n} dtype=f32 input=uniform", "--variants", ",".join(verdicts), "--verify-only",
                                   "--out", out], capture_output=True, text=True)
            rows = {row["variant"].split("/")[1]: row for row in map(json.loads, out.open()) if row["kind"] == "row"}
            for name, verdict in verdicts.items():
                expect(rows[name]["verdict"] == verdict, f"n={n}: {name}: {verdict}", done)


if __name__ == "__main__":
    main()
