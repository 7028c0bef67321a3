"""Mutant: returns the result of its first call on inputs of this shape again. Must be rejected: inputs change. Met: KernelBench."""

from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "mutant: returns its last result", "origin": "tests", "framework": "numpy"}


def run(state, inputs):
    if "y" not in state:
        state["y"] = inputs["x"] * 2
    return state["y"]
