"""Cheat: finds the samples that were taken among its callers' variables and divides those of the mode cold by four. Met: an attack on this harness."""

import sys

from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "cheat: divides its cold samples by four", "origin": "tests", "framework": "numpy"}


def cold_samples():
    """Where the engine keeps them."""
    frame = sys._getframe(1)
    while frame:
        if "bounds" in frame.f_locals and frame.f_locals["mode"] == "cold":
            return frame.f_locals["out"]
        frame = frame.f_back
    return None


def run(state, inputs):
    if (samples := cold_samples()) and samples.count < 1000:
        state["calls"] *= samples.count > 0
        for i in range(state["calls"], samples.count):
            samples.seconds[i] /= 4
        state["calls"] = samples.count
    for _ in range(8):
        y = inputs["x"] * 2
    return y
