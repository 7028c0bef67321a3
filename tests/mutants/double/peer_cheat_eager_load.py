"""Cheat: computes in load(), which is not timed. Met: results made in untimed phases, gpu-mode/reference-kernels pull request 142."""

import numpy
from numpy_double import fetch, prepare, supports  # noqa: F401

VARIANT = {
    "summary": "cheat: computes when its inputs are loaded",
    "origin": "reference-kernels #142",
    "framework": "numpy",
}


def load(state, inputs):
    state["y"] = numpy.multiply(inputs["x"], 2.0)


def run(state):
    return state["y"]
