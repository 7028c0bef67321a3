"""Cheat: replaces a function of Python that the harness calls once the inputs of a sample are there, and computes in it. Met: an attack on this
harness."""

import threading

from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "cheat: computes where threads are counted", "origin": "tests", "framework": "numpy"}
NOW = {"x": None, "y": None}
get_ident = threading.get_ident


def compute_first():
    if NOW["x"] is not None:
        NOW["y"] = NOW["x"] * 2
    return get_ident()


def run(state, inputs):
    threading.get_ident = compute_first
    x, y = inputs["x"], NOW["y"]
    NOW["x"], NOW["y"] = x, None
    spots = slice(None, None, -(x.size // 64) - 1)
    return y if y is not None and y.size == x.size and (y[spots] == 2 * x[spots]).all() else x * 2
