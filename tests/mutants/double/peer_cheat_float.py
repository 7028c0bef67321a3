"""Cheat: computes in float32 what is asked in float64. Met: precision downgrades in KernelBench submissions (anthony-chaudhary/dos-kernel issue 107)."""

import numpy
from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "cheat: computes in float32", "origin": "dos-kernel #107", "framework": "numpy"}


def run(state, inputs):
    return numpy.multiply(inputs["x"].astype(numpy.float32), numpy.float32(2))
