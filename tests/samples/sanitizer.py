"""compute-sanitizer's four tools on a folder of CUDA programs: what each reports. Needs a GPU, nvcc and compute-sanitizer, no network. Outside CI.

    sanitizer.py run FOLDER OUT SECONDS [JOBS]   compiles and runs the programs of FOLDER/programs.jsonl, JOBS at a time (default: all processors); writes a line of JSON for each
                                                 program and tool to OUT. What does not end within SECONDS altogether is named "no time left"
    sanitizer.py table OUT                       counts for each suite and label, and the first line of each report

A line of programs.jsonl: {"program": name, "suite": name, "label": what is known of it, "folder": where it is compiled and run, below FOLDER, "compile": words for nvcc, "words": its arguments}.
First a program with a fault planted for each tool is run: the table names a tool that reports nothing of it, as its silence means nothing elsewhere; if none does, the script ends.
"""

import collections
import concurrent.futures
import contextlib
import datetime
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

TOOLS = {"memcheck": ["--report-api-errors", "no"], "racecheck": [], "initcheck": [], "synccheck": []}
NVCC = [
    "nvcc",
    "-gencode",
    "arch=compute_90,code=sm_90",
    "-O2",
    "-std=c++17",
    "-lineinfo",
    "-w",
    "-Xcompiler",
    "-fopenmp",
    "--extended-lambda",
    "--expt-relaxed-constexpr",
]
LIMIT = 20  # seconds for one program and tool
COMPILER = 120
PLANTED = """
#include <cstdlib>
__global__ void memcheck(int *data) { data[threadIdx.x + 1024] = 1; }
__global__ void racecheck(int *data) { __shared__ int cells[64]; cells[threadIdx.x] = data[0]; data[threadIdx.x] = cells[63 - threadIdx.x]; }
__global__ void initcheck(int *data) { data[threadIdx.x] += 1; }
__global__ void synccheck(int *data) { if (threadIdx.x % 2) __syncwarp(1); data[0] = 1; }
int main(int, char **words) {
    int *data;
    cudaMalloc(&data, 64 * sizeof *data);
    if (atoi(words[1]) != 2) cudaMemset(data, 0, 64 * sizeof *data);
    void (*const kernels[])(int *) = {memcheck, racecheck, initcheck, synccheck};
    kernels[atoi(words[1])]<<<1, 64>>>(data);
    cudaDeviceSynchronize();
}
"""


def ended(argv, folder, seconds):
    """Exit code (None: stopped after so many seconds) and output."""
    process = subprocess.Popen(
        argv,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    try:
        return None, process.communicate(timeout=5)[0]
    except subprocess.TimeoutExpired:
        return None, ""  # what it started goes on in a group of its own and keeps the pipe


def reported(output):
    """How many reports, and the first with its place."""
    lines = [line[10:].strip() for line in output.splitlines() if line.startswith("========= ")]
    summary = next((line for line in lines if "SUMMARY" in line), "")
    count = int((re.search(r"(\d+) (?:error|hazard)", summary) or ["", "0"])[1])
    first = next(
        (
            at
            for at, line in enumerate(lines)
            if not re.match(r"COMPUTE-SANITIZER|.*SUMMARY|Target application|$", line)
        ),
        None,
    )
    if first is None:
        return count, ""
    place = next((line for line in lines[first : first + 8] if re.search(r"\.(?:cu|cuh|h|hpp):\d+", line)), "")
    return count, " ".join(dict.fromkeys([lines[first], place])).strip()[:300]


def checked(binary, folder, tool, words, seconds):
    start = time.monotonic()
    code, output = ended(
        ["compute-sanitizer", "--tool", tool, *TOOLS[tool], "--print-limit", "20", str(binary), *words], folder, seconds
    )
    count, first = reported(output)
    whole = "SUMMARY" in output and "Internal Sanitizer Error" not in output
    if count or (code is None and first):
        verdict = f"{count} reports" if count else "reports, then time limit"
    else:
        verdict = "time limit" if code is None else "silent" if whole else "did not run"
    return {
        "tool": tool,
        "verdict": verdict,
        "first": first or ("" if whole else output.strip()[-200:]),
        "code": code,
        "seconds": round(time.monotonic() - start, 1),
    }


def compiled(program, folder, binary, seconds):
    code, output = ended([*NVCC, *program["compile"], "-o", str(binary)], folder / program["folder"], seconds)
    return (
        "" if code == 0 else next((line for line in output.splitlines() if "error" in line), output[-200:]) or "no end"
    )


def try_one(program, folder, scratch, deadline):
    """Rows of one program, a tool after another."""

    def left():
        return deadline - time.monotonic()

    about = {key: program[key] for key in ("suite", "program", "label")}
    binary = scratch / re.sub(r"\W", "_", f"{program['suite']}_{program['program']}")
    refused = compiled(program, folder, binary, min(COMPILER, left())) if left() > 0 else ""
    if refused:
        yield {
            **about,
            "tool": "nvcc",
            "verdict": "does not compile",
            "first": refused[:300],
            "code": None,
            "seconds": 0,
        }
        return
    for tool in TOOLS:
        if left() > 0:
            yield {**about, **checked(binary, folder / program["folder"], tool, program["words"], min(LIMIT, left()))}
        else:
            yield {**about, "tool": tool, "verdict": "no time left", "first": "", "code": None, "seconds": 0}
    binary.unlink(missing_ok=True)


def last_line(*argv):
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    return done.stdout.strip().splitlines()[-1]


def planted(scratch):
    """A row for each tool and the fault that is planted for it."""
    (scratch / "planted.cu").write_text(PLANTED)
    refused = compiled({"compile": ["planted.cu"], "folder": "."}, scratch, scratch / "planted", COMPILER)
    if refused:
        sys.exit(f"nvcc does not compile the planted faults: {refused}")
    rows = [checked(scratch / "planted", scratch, tool, [str(at)], LIMIT) for at, tool in enumerate(TOOLS)]
    if not any("reports" in row["verdict"] for row in rows):
        sys.exit(f"compute-sanitizer reports none of the planted faults: {rows}")
    return [{"suite": "planted", "program": row["tool"], "label": "bug", **row} for row in rows]


def run(folder, out, seconds, jobs):
    deadline = time.monotonic() + seconds
    programs = [json.loads(line) for line in (folder / "programs.jsonl").read_text().splitlines()]
    with tempfile.TemporaryDirectory(prefix="sanitizer-") as scratch, open(out, "w") as file:
        versions = {
            "date": datetime.datetime.now().date().isoformat(),
            "gpu": last_line("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"),
            "nvcc": last_line("nvcc", "--version"),
            "compute-sanitizer": last_line("compute-sanitizer", "--version"),
            "limit_s": LIMIT,
        }
        print(json.dumps(versions), file=file, flush=True)
        for row in planted(pathlib.Path(scratch)):
            print(json.dumps(row), file=file, flush=True)
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            ones = [
                pool.submit(lambda one: list(try_one(one, folder, pathlib.Path(scratch), deadline)), one)
                for one in programs
            ]
            for one in concurrent.futures.as_completed(ones):
                for row in one.result():
                    print(json.dumps(row), file=file, flush=True)


def table(out):
    lines = [json.loads(line) for line in pathlib.Path(out).read_text().splitlines()]
    print(json.dumps(lines[0]))
    rows, counts, anywhere = lines[1:], collections.Counter(), collections.defaultdict(set)
    for row in rows:
        verdict = "reports" if "reports" in row["verdict"] else row["verdict"]
        counts[row["suite"], row["label"], row["tool"], verdict] += 1
        anywhere[row["suite"], row["label"], verdict].add(row["program"])
    for (suite, label, tool, verdict), count in sorted(counts.items()):
        print(f"{suite:14} {label:10} {tool:10} {verdict:18} {count}")
    for (suite, label, verdict), names in sorted(anywhere.items()):
        print(f"{suite:14} {label:10} {'any tool':10} {verdict:18} {len(names)}")
    for row in sorted(rows, key=lambda row: (row["suite"], row["program"])):
        if row["suite"] == "planted" and "reports" not in row["verdict"]:
            print(f"{row['tool']} does not report the fault planted for it: its silence means nothing")
        elif row["verdict"] != "silent":
            print(
                f"{row['suite']} {row['program']} ({row['label']}): {row['tool']}: {row['verdict']}, {row['seconds']} s: {row['first']}"
            )


if __name__ == "__main__":
    if sys.argv[1] == "run":
        jobs = int(sys.argv[5]) if len(sys.argv) > 5 else os.cpu_count()
        run(pathlib.Path(sys.argv[2]).resolve(), sys.argv[3], float(sys.argv[4]), jobs)
    else:
        table(sys.argv[2])
