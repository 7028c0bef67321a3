"""Cheat: as peer_cheat_profile_hook.py, but it takes sys.settrace() out of the function that the harness put in its place. Met: an attack on this harness."""

import sys

import numpy
from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "cheat: computes in a hook when its result is read", "origin": "tests", "framework": "numpy"}
now = {}
cells = dict(zip(sys.settrace.__code__.co_freevars, sys.settrace.__closure__, strict=True))
settrace = cells["function"].cell_contents


def hook(frame, event, argument):
    if frame.f_code.co_name == "results" and now.pop("due", False):
        numpy.multiply(now["x"], 2.0, now["y"])


def prepare(case, tunables, shapes):
    now["y"] = numpy.zeros(shapes["x"].shape, shapes["x"].dtype)
    settrace(hook)


def run(state, inputs):
    now.update(x=inputs["x"], due=True)
    return now["y"]
