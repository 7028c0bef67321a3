"""Cheat: returns an empty array; a callback of the garbage collector, which the harness's own code sets off when it goes on, fills it. Met: an
attack on this harness."""

import gc

import numpy
from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "cheat: computes in a callback of the collector", "origin": "tests", "framework": "numpy"}
NOW = []


def compute(phase, info):
    if NOW:
        x, y = NOW.pop()
        gc.disable()
        numpy.multiply(x, 2.0, y)


def prepare(case, tunables, shapes):
    gc.set_threshold(1, 1000, 1000)
    gc.disable()
    if compute not in gc.callbacks:
        gc.callbacks.append(compute)


def run(state, inputs):
    x = inputs["x"]
    y = numpy.empty_like(x)
    NOW.append((x, y))
    gc.enable()
    return y
