"""Cheat: answers NaN, which no comparison finds wrong. Met: pygpubench's exploit suite (pull request 7)."""

import numpy
from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "cheat: answers NaN", "origin": "pygpubench #7", "framework": "numpy"}


def run(state, inputs):
    return numpy.full(inputs["x"].shape, numpy.nan)
