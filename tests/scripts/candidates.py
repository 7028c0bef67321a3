"""Candidates as a program writes them, for `rungs score` of the op double: right and wrong ones, and one of four that hangs, eats memory, crashes, leaks, litters, starts
processes or does not compile. score_them() scores them and says what of the machine is not as it was.

    RUNGS=build/release/bin/rungs cmake/python tests/scripts/candidates.py COUNT [--gpu] [options of score]

A candidate that hangs costs score's --timeout: two of 40 do.
"""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import uuid

CPU = """#include "variant.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>

static Status run(const VariantArgs *args) { /* NUMBER */
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    BEFORE
    for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];
    return STATUS_OK;
}

RUNGS_VARIANT(double, try_it) = {.backend = BACKEND_CPU, .summary = "a candidate", .origin = "a test", .run = run};
"""
CUDA = """// rungs: --call 'scale(x, y, n, stream)'
#include <cuda_runtime.h>
__global__ void kernel(const double *x, double *y, long n) { // NUMBER
    const long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    INSIDE
    if (i < n) y[i] = 2 * x[i];
}
void scale(const double *x, double *y, long n, cudaStream_t stream) {
    BEFORE
    kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
"""
# kind: (what stands in the text, what stands there instead, (verdict, words of the reason)); None: any verdict, but one line
KINDS_CPU = {
    "good": ("BEFORE", "", ("pass", "")),
    "wrong": ("2 * x[i]", "2 * x[i] + (i == 7)", ("fail", "y[7] is")),
    "hangs": ("BEFORE", "while (n) *(volatile double *)y = *x;", ("error", "timed out")),
    "crashes": ("BEFORE", "*(volatile int *)(unsigned long)n = (int)x[0];", ("error", "signal 11")),
    "typo": ("double *y", "dubble *y", ("error", "dubble")),
    "leaks": ("BEFORE", "memset(malloc(8 << 20), 1, 8 << 20);", None),
    "descriptors": ("BEFORE", 'for (int k = 0; k < 50; k++) (void)!open("/dev/null", O_RDONLY);', None),
    "litters": ("BEFORE", 'FILE *f = fopen("/tmp/rungs-litter-NUMBER", "w"); if (f) fputs("x", f);', None),
    "forks": ("BEFORE", "if (fork() == 0) for (;;) pause();", None),  # ends with the sandbox
    "kills": ("BEFORE", "kill(0, SIGKILL);", ("error", "signal 9")),
    "stops": ("BEFORE", "raise(SIGSTOP);", ("error", "")),
    "exits": ("BEFORE", "_exit(0);", ("error", "")),
    "floods": (
        "BEFORE",
        'for (int k = 0; k < 100000; k++) fputs("all is well, all is well, all is well\\n", stderr);',
        None,
    ),
    "eats": ("BEFORE", "for (;;) memset(malloc(64 << 20), 1, 64 << 20);", ("error", "")),
    "endless": ("#include <signal.h>", '#include "/dev/zero"', ("error", "")),
}
KINDS_CUDA = {
    "good": ("BEFORE", "", ("pass", "")),
    "wrong": ("2 * x[i]", "2 * x[i] + (i == 7)", ("fail", "y[7] is")),
    "hangs": ("INSIDE", "while (n) *(volatile double *)y = 1;", ("error", "timed out")),
    "crashes": ("INSIDE", "*(volatile int *)(n * 1048576) = 1;", ("error", "")),
    "typo": ("double *y", "dubble *y", ("error", "dubble")),
    "leaks": ("BEFORE", "void *p; cudaMalloc(&p, 64 << 20);", None),
    "traps": ("INSIDE", "__trap();", ("error", "")),
    "beyond": ("if (i < n)", "if (i < n + 100)", None),
}


def kind_of(number, every_cuda):
    """(is it for CUDA, kind): one of four is bad, of those for CUDA among others every second; one of ten is wrong."""
    cuda = bool(every_cuda) and number % every_cuda == 0
    among = 8 if cuda and every_cuda > 1 else 4
    if number % among == (0 if among == 8 else 3):
        bad = list(KINDS_CUDA if cuda else KINDS_CPU)[2:]
        return cuda, bad[number // among % len(bad)]
    return cuda, "wrong" if number % 10 == 1 else "good"


def write(folder, count, every_cuda):
    """{path: (verdict, words) or None} of so many candidates."""
    expected = {}
    for number in range(count):
        cuda, kind = kind_of(number, every_cuda)
        old, new, verdict = (KINDS_CUDA if cuda else KINDS_CPU)[kind]
        text = (CUDA if cuda else CPU).replace(old, new).replace("BEFORE", "").replace("INSIDE", "")
        path = folder / f"c{number:04}_{kind}.{'cu' if cuda else 'c'}"
        path.write_text(text.replace("NUMBER", str(number)))
        expected[path] = verdict
    return expected


def free_bytes():
    """Of each GPU."""
    asked = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader"]
    return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.split("\n")


def marked(mark):
    """The processes that inherited this mark."""
    found = []
    for place in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in place.read_bytes():
                found.append(int(place.parent.name))
        except OSError:
            pass
    return found


def resources(folder, mark, gpu):
    """What must be after as it was before."""
    tried = pathlib.Path(os.environ.get("RUNGS_BUILD", "/none"), "tried")
    return {
        "/tmp": sorted(map(str, pathlib.Path("/tmp").glob("rungs-litter*"))),
        "TMPDIR": sorted(str(path) for path in (folder / "tmp").rglob("*")),
        "compiled": sorted(str(path) for path in tried.rglob("*c[0-9][0-9][0-9][0-9]_*")),
        "made": sorted(path.name for path in folder.iterdir() if path.suffix not in (".c", ".cu", ".jsonl", ".log")),
        "processes": len(marked(mark)) if mark else 0,
        "gpu": free_bytes() if gpu else [],
    }


def seen(pid):
    """(open descriptors, MiB of its own memory) of `score` while it runs."""
    memory = pathlib.Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0]
    return len(os.listdir(f"/proc/{pid}/fd")), int(memory) / 1024


def score_them(program, folder, count, *options, every_cuda=4, gpu=False):
    """(lines, what is wrong, seconds): a line for each, of the verdict that is due, and a machine that is as it was."""
    expected = write(folder, count, every_cuda)
    mark = f"RUNGS_MARK={uuid.uuid4().hex}"
    name, _, value = mark.partition("=")
    (folder / "tmp").mkdir(exist_ok=True)
    before, looks, began = resources(folder, None, gpu), [], time.monotonic()
    out = folder / "scores.jsonl"
    argv = [
        program,
        "score",
        *expected,
        "--op",
        "double",
        "--over",
        "cpu_loop",
        "n=20011",
        "--out",
        out,
        "--resume",
        *options,
    ]
    with open(folder / "score.log", "w") as log:
        process = subprocess.Popen(
            list(map(str, argv)), stdout=log, stderr=log, env=os.environ | {name: value, "TMPDIR": str(folder / "tmp")}
        )
        while process.poll() is None:
            time.sleep(0.5)
            lines = out.read_bytes().count(b"\n") if out.exists() else 0
            if lines > len(looks):
                print(f"{lines} of {count} after {time.monotonic() - began:.0f} s", file=sys.stderr)
            if lines > len(looks):
                looks += [seen(process.pid)] * (lines - len(looks)) if process.poll() is None else []
    seconds = time.monotonic() - began
    after = resources(folder, mark, gpu)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    wrong = [f"{key}: {before[key]} before, {after[key]} after" for key in before if before[key] != after[key]]
    if process.returncode != 0:
        wrong.append(f"exit code {process.returncode}: {(folder / 'score.log').read_text()[-2000:]}")
    if [line["file"] for line in lines] != list(map(str, expected)):
        wrong.append(f"{len(lines)} lines for {len(expected)} candidates, or in another order")
    for line in lines:
        due = expected[pathlib.Path(line["file"])]
        if due and (line["verdict"] != due[0] or due[1] not in (line["reason"] or "")):
            wrong.append(f"{line['file']}: {line['verdict']} ({line['reason']}); expected {due}")
    early, late = ([min(column) for column in zip(*part)] for part in (looks[5:20], looks[-15:]))
    if len(looks) >= 40 and (late[0] > early[0] or late[1] > early[1] + 8):
        wrong.append(f"score has {late} descriptors and MiB at its end, {early} at its beginning")
    return lines, wrong, seconds


def main():
    count, gpu = int(sys.argv[1]), "--gpu" in sys.argv
    options = [word for word in sys.argv[2:] if word != "--gpu"]
    with tempfile.TemporaryDirectory(prefix="candidates_") as folder:
        lines, wrong, seconds = score_them(
            os.environ["RUNGS"], pathlib.Path(folder), count, *options, every_cuda=1 if gpu else 4, gpu=gpu
        )
    found = collections.Counter((line["file"].rsplit("_", 1)[1], line["verdict"]) for line in lines)
    for (kind, verdict), number in sorted(found.items()):
        print(f"{number:5} {kind:16} {verdict}")
    print("\n".join(wrong) or "nothing is left behind")
    print(f"{len(lines)} candidates in {seconds:.0f} s, {len(wrong)} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
