"""Cheat: computes one call in 15 and answers with its last result in the others. Met: gpu-mode/reference-kernels pull request 104."""

from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "cheat: computes one call in 15", "origin": "reference-kernels #104", "framework": "numpy"}


def run(state, inputs):
    state["calls"] += 1
    if state["calls"] % 15 == 1:
        state["last"] = inputs["x"] * 2
    return state["last"]
