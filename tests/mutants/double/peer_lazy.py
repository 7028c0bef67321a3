"""Mutant: returns an object that computes when it is read. Must be rejected: it is no array. Met: gpu-mode/reference-kernels issue 162."""

import numpy
from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "mutant: computes when it is looked at", "origin": "tests", "framework": "numpy"}


class Lazy:
    def __init__(self, x):
        self.x, self.dtype, self.shape, self.size = x, x.dtype, x.shape, x.size

    def __array__(self, dtype=None, copy=None):
        return numpy.multiply(self.x, 2.0)


def run(state, inputs):
    return Lazy(inputs["x"].copy())
