"""Unusual variants that are right are refused nowhere. `./rungs test --full` runs each on four cases, five times, beside loops that keep each processor
busy and idle in turns; other runs each once."""

import contextlib
import os
import subprocess
import sys

import pytest
from program import FULL, MUTANTS, call, expect, needs_release, rows_of

CONTROLS = {
    "double": ("seven_threads", "pool", "tasks", "mapped"),
    "rolling": ("reverse", "pairwise", "long_double", "reciprocal"),
}
CASES = {
    "double": (
        "double n=20011 input=normal",
        "double n=1000 input=normal",
        "double n=1000003 input=normal",
        "double n=100003 input=uniform",
    ),
    "rolling": (
        "rolling n=20011 window=300 input=uniform",
        "rolling n=100003 window=30 input=normal",
        "rolling n=5003 window=300 input=offset1e3",
    ),
}
CHOSEN = [(op, case) for op, cases in CASES.items() for case in (cases if FULL else cases[:1])]
RUNS = 5 if FULL else 1


BURSTS = """
import os, random, time
parent = os.getppid()
while os.getppid() == parent:
    end = time.monotonic() + random.uniform(0.01, 1)
    while time.monotonic() < end:
        pass
    time.sleep(random.uniform(0.01, 1))
"""


@contextlib.contextmanager
def load(processors):
    """A loop for each processor, whose bursts come between samples and what they are compared with."""
    loops = [subprocess.Popen([sys.executable, "-c", BURSTS]) for _ in range(processors)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill(), loop.wait()


@needs_release
@pytest.mark.parametrize("op, case", CHOSEN, ids=[case for _, case in CHOSEN])
def test_what_is_right_is_never_refused(op, case, folder):
    names = [f"cpu_{name}_control" for name in CONTROLS[op]]
    with load(os.cpu_count() if FULL else 0):
        for run in range(RUNS):
            out = folder / f"{run}.jsonl"
            quick = () if FULL else ("--quick",)  # which leaves no time for the parent's clock
            done = call(
                *("run", case, "--variants", ",".join(names), *quick, "--out", out), program=MUTANTS, timeout=600
            )
            said = {row["variant"].split("/")[1]: (row["verdict"], row["reason"]) for row in rows_of(out)}
            expect(said == dict.fromkeys(names, ("pass", None)), f"{case}, run {run}: {said}", done)
