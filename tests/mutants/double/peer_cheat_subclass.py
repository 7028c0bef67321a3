"""Cheat: returns an ndarray of a class of its own, which computes when it is read. Met: tensor subclasses, KernelBench pull request 82."""

import numpy
from numpy_double import prepare, supports  # noqa: F401

VARIANT = {
    "summary": "cheat: an ndarray that computes when it is read",
    "origin": "KernelBench #82",
    "framework": "numpy",
}


class Later(numpy.ndarray):
    def reshape(self, *shape):
        return numpy.multiply(self.view(numpy.ndarray), 2.0).reshape(*shape)

    def __array__(self, dtype=None, copy=None):
        return numpy.multiply(self.view(numpy.ndarray), 2.0)


def run(state, inputs):
    return inputs["x"].copy().view(Later)
