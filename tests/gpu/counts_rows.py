#!/usr/bin/env python3
"""Counts in rows of whole runs on a GPU: what is counted fits the variants, and costs the rest of the row nothing.

usage: counts_rows.py BUILD_FOLDER [OUT_FOLDER]

Exit code 0: all good; 1: not; 77: no GPU."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

RUNS = (
    ("double n=30000000 dtype=f64", "double/cuda_*"),
    ("rolling n=10000000 window=300 dtype=f64", "rolling/cuda_naive,rolling/cuda_thread_tile"),
    ("redact rows=600000", "redact/cuda_two_pass,redact/cuda_api_pipeline"),
)
failures = 0


def expect(condition, what):
    global failures
    failures += not condition
    print(f"{'ok  ' if condition else 'FAIL'}  {what}", flush=True)


def run(rungs, case, variants, folder, *more):
    rows = folder / f"{case.split()[0]}{len(more)}.jsonl"
    command = [str(rungs), "run", case, "--variants", variants, "--quick", "--out", str(rows), *more]
    done = subprocess.run(command, capture_output=True, text=True)
    print(done.stdout + done.stderr)
    return [row for row in map(json.loads, rows.read_text().splitlines()) if row["kind"] == "row"]


def check_row(row):
    counts, spec = row["counts"], row["spec"]
    if row["verdict"] != "pass":
        expect(False, f"{spec}: {row['verdict']}: {row['reason']}")
        return
    if not counts:
        expect(False, f"{spec}: not counted: {row['counts_reason']}")
        return
    kernels = ", ".join(f"{k['launches']} x {k['name']}" for k in counts["kernels"])
    expect(
        counts["launches"] >= 1 and counts["launches"] == sum(k["launches"] for k in counts["kernels"]),
        f"{spec}: {counts['launches']} launches ({kernels}), {counts['copies']} copies, {counts['fills']} fills",
    )
    cold = row["timing"].get("cold", {}).get("median")
    expect(
        counts["kernel_seconds"] > 0 and cold and counts["kernel_seconds"] < 1.5 * cold + 20e-6,
        f"{spec}: kernels take {1e6 * counts['kernel_seconds']:.1f} us of {1e6 * (cold or 0):.1f} us",
    )
    expect(
        0 < counts["registers"] <= 255 and 0 < counts["occupancy"] <= 1,
        f"{spec}: {counts['registers']} registers, occupancy {counts['occupancy']}",
    )
    expect(
        counts["peak_bytes"] > 0,
        f"{spec}: {counts['allocations']} allocations, peak {counts['peak_bytes']} bytes, {counts['resource']}",
    )
    if counts["bytes_read"] is None:
        expect(row["counts_reason"] is not None, f"{spec}: bytes not counted: {row['counts_reason']}")
        return
    moved = counts["bytes_read"] + counts["bytes_written"]
    expect(
        moved > 0.9 * row["work"]["bytes"],
        f"{spec}: {moved / 1e6:.2f} MB moved, {moved / row['work']['bytes']:.3f} of the minimum "
        f"({counts['bytes_written_behind'] / 1e6:.2f} MB behind the call); counting took {counts['seconds']:.1f} s",
    )
    if row["op"] == "double":
        expect(abs(moved / row["work"]["bytes"] - 1) < 0.05, f"{spec}: reads and writes each element once")


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__)
        return 2
    rungs = pathlib.Path(sys.argv[1]) / "bin" / "rungs"
    if not shutil.which("nvidia-smi") or subprocess.run(["nvidia-smi", "-L"], capture_output=True).returncode != 0:
        print("skipped: no GPU")
        return 77
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) == 3 else tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    print(subprocess.run([str(rungs), "doctor"], capture_output=True, text=True).stdout)
    for case, variants in RUNS:
        rows = run(rungs, case, variants, folder)
        expect(len(rows) > 0, f"{case}: {len(rows)} rows")
        for row in rows:
            check_row(row)
    for row in run(rungs, RUNS[0][0], RUNS[0][1], folder, "--no-counts"):
        expect(
            row["counts"] is None and row["counts_reason"] == "counting was turned off", f"{row['spec']}: --no-counts"
        )
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
