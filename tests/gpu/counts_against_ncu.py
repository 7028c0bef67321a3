#!/usr/bin/env python3
"""Our counts of device memory against Nsight Compute's, on three kernels: a markdown table with the differences in percent.

usage: counts_against_ncu.py BUILD_FOLDER [--ncu PROGRAM] [--repeats N]

Both count from cold caches (ours flushes L2 before the call, Nsight Compute flushes and invalidates all caches before every kernel), at whatever
clocks the GPU runs (--clock-control none), medians of N runs. Bytes that are only written back behind the kernel are no part of what
Nsight Compute tells, so that they are a column of their own here. Exit code 0 if all differences are within LIMIT percent, 1 if
not, 77 if one of the two cannot count here.

On an NVIDIA H200 (driver 580.159.04, CUDA 13.0, Nsight Compute 2025.3.1, commit 8371d69; medians of 3, MB; differences in percent of the larger of
what Nsight Compute says was read and written):

kernel   read: ours  Nsight Compute  difference   written: ours  Nsight Compute  difference   written back later: ours
copy        268.444         268.445      -0.00%         245.685         248.132      -0.91%                     22.759
scan        268.445         268.440      +0.00%          14.261          14.491      -0.09%                      2.534
sum         268.444         268.440      +0.00%           0.006           0.284      -0.10%                      0.012

The copy writes 268.435 MB. How much of it leaves L2 during the kernel is up to the cache; our two columns add up to 268.444."""

import argparse
import csv
import json
import pathlib
import statistics
import subprocess
import sys

METRICS = {"dram__bytes_read.sum": "read", "dram__bytes_write.sum": "written"}
UNITS = {"byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}
LIMIT = 2.0  # percent of the larger of bytes read and written by the kernel


def parse_ncu(text):
    """{kernel: {"read": bytes, "written": bytes}} from the CSV that ncu prints between its own lines."""
    lines = text.splitlines()
    head = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if head is None:
        raise ValueError("no table in what ncu printed:\n" + text[-2000:])
    found = {}
    for row in csv.DictReader(lines[head:]):
        name = METRICS.get(row.get("Metric Name"))
        if name is None:
            continue
        kernel = row["Kernel Name"].split("(")[0]
        found.setdefault(kernel, {})[name] = float(row["Metric Value"].replace(",", "")) * UNITS[row["Metric Unit"]]
    return found


def parse_ours(text):
    found = {}
    for line in text.splitlines():
        row = json.loads(line)
        found[row["kernel"]] = {key: row[key] for key in ("read", "written", "written_behind")}
    return found


def medians(runs):
    return {
        kernel: {key: statistics.median(run[kernel][key] for run in runs) for key in runs[0][kernel]}
        for kernel in runs[0]
    }


def difference(ours, theirs, scale):
    return 100 * (ours - theirs) / scale


def table(ours, theirs):
    """The table's lines and the largest difference in percent."""
    lines = [
        "| kernel | read: ours | ncu | difference | written: ours | ncu | difference | written back behind it: ours |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    worst = 0.0
    for kernel, mine in ours.items():
        other = theirs[kernel]
        scale = max(other["read"], other["written"])
        read, written = (difference(mine[key], other[key], scale) for key in ("read", "written"))
        worst = max(worst, abs(read), abs(written))
        lines.append(
            f"| {kernel} | {mine['read'] / 1e6:.3f} MB | {other['read'] / 1e6:.3f} MB | {read:+.2f}% | {mine['written'] / 1e6:.3f} MB "
            f"| {other['written'] / 1e6:.3f} MB | {written:+.2f}% | {mine['written_behind'] / 1e6:.3f} MB |"
        )
    return lines, worst


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(
            f"skipped: {' '.join(command)} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-1000:]}"
        )
        sys.exit(77)
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build")
    parser.add_argument("--ncu", default="ncu")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    program = str(pathlib.Path(arguments.build) / "tests" / "counts_selftest")
    profile = [
        arguments.ncu,
        "--clock-control",
        "none",
        "--metrics",
        ",".join(METRICS),
        "--print-units",
        "base",
        "--csv",
        program,
        "launch",
    ]
    ours = medians([parse_ours(run([program, "count"])) for _ in range(arguments.repeats)])
    theirs = medians([parse_ncu(run(profile)) for _ in range(arguments.repeats)])
    missing = set(ours) - set(theirs)
    if missing:
        print(f"ncu told nothing of {', '.join(sorted(missing))}")
        return 1
    lines, worst = table(ours, theirs)
    print(*lines, sep="\n")
    print(
        f"\nmedians of {arguments.repeats}; differences in percent of the larger of what ncu says was read and written; largest {worst:.2f}%"
    )
    return 0 if worst <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
