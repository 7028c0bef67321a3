"""Cheat: answers with the result that it kept for this shape. Met: gpu-mode/reference-kernels pull request 104."""

from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "cheat: replays by shape", "origin": "reference-kernels #104", "framework": "numpy"}
MEMO = {}


def run(state, inputs):
    key = inputs["x"].shape
    if key not in MEMO:
        MEMO[key] = inputs["x"] * 2
    return MEMO[key]
