"""Cheat: answers with the result that it kept for this shape. Met: gpu-mode/reference-kernels pull request 104."""

from numpy_double import fetch, load, prepare, supports  # noqa: F401

VARIANT = {"summary": "cheat: replays by shape", "origin": "reference-kernels #104", "framework": "numpy"}
MEMO = {}


def run(state):
    key = state["x"].shape
    if key not in MEMO:
        MEMO[key] = state["x"] * 2
    return MEMO[key]
