"""Cheat: replaces what looks for replaced functions, and then the function that reads results. Met: an attack on this harness."""

import sys

import numpy
from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "cheat: replaces what would see it", "origin": "tests", "framework": "numpy"}
Own, Exchange = sys.modules["peer_own"].Own, sys.modules["peer_forms"].Exchange
now, honest = {}, Exchange.results


def results(self, value, rooms):
    if now.pop("due", False):
        numpy.multiply(now["x"], 2, out=now["y"])
    return honest(self, value, rooms)


def prepare(case, tunables, shapes):
    now["y"] = numpy.zeros(shapes["x"].shape, shapes["x"].dtype)
    Own.expect_near = Own.expect_kept = lambda self, deep=False: None
    Exchange.results = results


def run(state, inputs):
    now.update(x=inputs["x"], due=True)
    return now["y"]
