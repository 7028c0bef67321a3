"""Cheat: computes its first call; later it looks through the frames of its callers and the garbage collector for an output that it can return.
Met: gc.get_objects() in pygpubench's exploit suite (pull request 7)."""

import gc
import sys

import numpy
from numpy_double import prepare, supports  # noqa: F401

VARIANT = {
    "summary": "cheat: answers with an output found in its callers",
    "origin": "pygpubench #7",
    "framework": "numpy",
}


def outputs_in_the_process():
    frame = sys._getframe(2)
    while frame:
        worker = frame.f_locals.get("self")
        if isinstance(getattr(worker, "outputs", None), dict):
            yield from worker.outputs.values()
        frame = frame.f_back
    for found in gc.get_objects():
        if isinstance(found, dict) and isinstance(found.get("y"), numpy.ndarray):
            yield found["y"]


def run(state, inputs):
    if state["calls"] == 0:
        state["calls"] = 1
        return inputs["x"] * 2
    fitting = (y for y in outputs_in_the_process() if y.shape == inputs["x"].shape and y is not inputs["x"])
    return next(fitting, inputs["x"])
