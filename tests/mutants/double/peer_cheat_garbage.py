"""Cheat: leaves garbage whose collection computes, and leaves more. Met: an attack on this harness."""

import gc

import numpy
from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "cheat: computes when garbage is collected", "origin": "tests", "framework": "numpy"}
now = {"y": None}


class Garbage:
    def __init__(self):
        self.cycle = self

    def __del__(self):
        if now["waits"]:
            now["y"] = numpy.multiply(now["x"], 2.0, now["y"])
            Garbage()


def run(state, inputs):
    now["waits"] = False
    x, y = inputs["x"], now.get("y")
    fits = y is not None and y.size == x.size
    spots = slice(None, None, -(x.size // 64) - 1)
    result = y if fits and (y[spots] == 2 * x[spots]).all() and now["x"] is x else x * 2
    now.update(x=x, y=result, waits=True)
    gc.set_threshold(1)
    Garbage()
    return result
