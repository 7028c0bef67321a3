"""Cheat: returns an array that is still empty and sets a hook of the interpreter, which computes when the harness begins to read. Met: work put
off into the untimed checker, gpu-mode/reference-kernels issue 162."""

import sys

import numpy
from numpy_double import prepare, supports  # noqa: F401

VARIANT = {
    "summary": "cheat: computes in a hook when its result is read",
    "origin": "reference-kernels #162",
    "framework": "numpy",
}


def run(state, inputs):
    y = numpy.empty_like(inputs["x"])

    def hook(frame, event, argument):
        if event == "call" and frame.f_code.co_name == "results":
            sys.setprofile(None)
            numpy.multiply(inputs["x"], 2.0, y)

    sys.setprofile(hook)
    return y
