"""Cheat: answers with the result that it kept for three elements of the input. Met: gpu-mode/reference-kernels pull request 142."""

import numpy
from numpy_double import prepare, supports  # noqa: F401

VARIANT = {
    "summary": "cheat: replays by three elements of its input",
    "origin": "reference-kernels #142",
    "framework": "numpy",
}
MEMO = {}


def run(state, inputs):
    x = inputs["x"]
    key = (x[0], x[x.size // 2], x[-1])
    if key not in MEMO:
        MEMO[key] = numpy.multiply(x, 2.0)
    return MEMO[key]
