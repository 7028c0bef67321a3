"""Cheat: returns the future of what a pool computes. Met: lazy outputs, gpu-mode/reference-kernels issue 162."""

import concurrent.futures

import numpy
from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "cheat: returns a future", "origin": "reference-kernels #162", "framework": "numpy"}
POOL = concurrent.futures.ThreadPoolExecutor(1)


def run(state, inputs):
    return POOL.submit(numpy.multiply, inputs["x"].copy(), 2.0)
