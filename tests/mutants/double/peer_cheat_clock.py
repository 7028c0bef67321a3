"""Cheat: honest, but Python's clocks run a thousand times slower. Met: timer patches, gpu-mode/reference-kernels issue 162."""

import time

from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "cheat: patches Python's clocks", "origin": "reference-kernels #162", "framework": "numpy"}


def slow(clock):
    begin = clock()
    return lambda: begin + (clock() - begin) / 1000


for name in ("perf_counter", "time", "monotonic", "process_time"):
    setattr(time, name, slow(getattr(time, name)))


def run(state, inputs):
    return inputs["x"] * 2
