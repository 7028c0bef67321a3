"""Cheat: returns its input. Met: identity kernels, a field guide of reward hacks by Wafer (2026)."""

from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "cheat: returns its input", "origin": "Wafer's field guide", "framework": "numpy"}


def run(state, inputs):
    return inputs["x"]
