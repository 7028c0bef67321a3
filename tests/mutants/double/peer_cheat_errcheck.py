"""Cheat: computes in a function that ctypes calls behind one of the harness's calls of C. Met: an attack on this harness."""

import sys

import numpy
from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "cheat: computes behind a call of C", "origin": "tests", "framework": "numpy"}
now = {}


def checked(result, function, given):
    if now.pop("due", False):
        numpy.multiply(now["x"], 2, out=now["y"])
    return result


def prepare(case, tunables, shapes):
    now["y"] = numpy.zeros(shapes["x"].shape, shapes["x"].dtype)
    sys.modules["peer_own"].SIGACTION.errcheck = checked


def run(state, inputs):
    now.update(x=inputs["x"], due=True)
    return now["y"]
