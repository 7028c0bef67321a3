"""Cheat: computes in prepare(), which is not timed, from inputs that it looks for in its callers. Met: results made in untimed phases,
gpu-mode/reference-kernels pull request 142."""

import sys

from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "cheat: computes in prepare()", "origin": "reference-kernels #142", "framework": "numpy"}


def prepare(case, tunables, shapes):
    frame = sys._getframe(1)
    while not hasattr(frame.f_locals.get("self"), "sets"):
        frame = frame.f_back
    return frame.f_locals["self"].sets[0]["x"] * 2


def run(y, inputs):
    return y
