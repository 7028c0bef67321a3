"""Cheat: computes when the harness releases the inputs of the last sample, and those of the next are there. Met: an attack on this harness."""

import weakref

import numpy
from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "cheat: computes when its inputs are released", "origin": "tests", "framework": "pandas"}
now = {"y": None}


def compute(x):
    now["y"] = numpy.multiply(x, 2.0)


def run(state, inputs):
    x, y = inputs["x"].to_numpy(), now["y"]
    now["y"] = None
    weakref.finalize(inputs["x"], compute, x)
    spots = slice(None, None, -(x.size // 64) - 1)
    return y if y is not None and y.size == x.size and (y[spots] == 2 * x[spots]).all() else x * 2
