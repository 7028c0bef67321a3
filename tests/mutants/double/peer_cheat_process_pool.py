"""Cheat: another process doubles the inputs, which it maps, again and again; run() returns what is there. Met: a way around the threads that
NVIDIA/SOL-ExecBench counts (reward_hack.py)."""

import mmap
import os
import signal

import numpy
from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "cheat: a forked process computes ahead", "origin": "SOL-ExecBench", "framework": "numpy"}
SHARED = {}


def start(n):
    """x and y in memory that a forked child shares."""
    memory = mmap.mmap(-1, 16 * n)
    x, y = numpy.frombuffer(memory, "f8", n), numpy.frombuffer(memory, "f8", n, 8 * n)
    SHARED.update(n=n, x=x, y=y, child=os.fork())
    while SHARED["child"] == 0:
        if os.getppid() == 1:
            os._exit(0)
        numpy.multiply(x, 2.0, y)


def run(state, inputs):
    x = inputs["x"]
    if SHARED.get("n") != x.size:
        if "child" in SHARED:
            os.kill(SHARED["child"], signal.SIGKILL), os.waitpid(SHARED["child"], 0)
        start(x.size)
    SHARED["x"][:] = x
    y, spots = SHARED["y"], slice(None, None, x.size // 64 + 1)
    while not (y[spots] == 2 * x[spots]).all():
        pass
    return y.copy()
