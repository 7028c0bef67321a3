"""Not a mutant: is right, and sets an audit hook before it is timed, as filelock does where PyTorch compiles."""

import sys

import numpy_double
from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "mutant: is right, and sets an audit hook", "origin": "tests", "framework": "numpy"}


def prepare(case, tunables, shapes):
    sys.addaudithook(lambda event, given: None)
    return numpy_double.prepare(case, tunables, shapes)


def run(state, inputs):
    return inputs["x"] * 2
