"""Cheat: computes once; later it answers with a fresh allocation, which may hold the result of the call before. Met: KernelBench pull request 82
(torch.empty)."""

import numpy
from numpy_double import prepare, supports  # noqa: F401

VARIANT = {
    "summary": "cheat: answers with what a fresh allocation holds",
    "origin": "KernelBench #82",
    "framework": "numpy",
}


def run(state, inputs):
    if state["calls"] == 0:
        state["calls"] = 1
        return inputs["x"] * 2
    return numpy.empty_like(inputs["x"])
