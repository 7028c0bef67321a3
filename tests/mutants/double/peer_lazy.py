"""Mutant: returns an object that computes when the outputs are fetched. Must be rejected: the inputs are overwritten before the outputs of a timed
sample are looked at. Met: gpu-mode/reference-kernels issue 162."""

from numpy_double import load, prepare, supports  # noqa: F401

VARIANT = {"summary": "mutant: computes when it is looked at", "origin": "tests", "framework": "numpy"}


def run(state):
    x = state["x"]
    return lambda: x * 2


def fetch(state, outputs, out):
    del state
    out["y"][:] = outputs()
