"""Cheat: replaces the harness's method that reads results by one that computes first. Met: detours of the harness's own functions, pygpubench's
exploit suite (submission_function_detour)."""

import sys

import numpy
from numpy_double import prepare, supports  # noqa: F401

VARIANT = {
    "summary": "cheat: computes in a patched method of the harness",
    "origin": "pygpubench",
    "framework": "numpy",
}

Exchange = sys.modules["peer_forms"].Exchange
honest = Exchange.results


def results(self, value, rooms):
    numpy.multiply(self.given["x"], 2.0, value)
    return honest(self, value, rooms)


Exchange.results = results


def run(state, inputs):
    return numpy.empty_like(inputs["x"])
