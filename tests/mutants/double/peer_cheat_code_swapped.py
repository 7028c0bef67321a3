"""Cheat: gives functions of the harness other code, those that would see it first; the functions themselves stay. Met: an attack on this harness."""

import sys

import numpy
from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "cheat: swaps the code of functions", "origin": "tests", "framework": "numpy"}
Own, Exchange = sys.modules["peer_own"].Own, sys.modules["peer_forms"].Exchange
now = {}


def blind(self, *given):
    pass


def write(self, found, rooms):
    for name, out in rooms.items():
        out[...] = self.inputs["x"] * 2 if name == "y" else found[name]


def prepare(case, tunables, shapes):
    now["y"] = numpy.zeros(shapes["x"].shape, shapes["x"].dtype)
    for function in (Own.expect_near, Own.expect_kept, Own.expect_classes):
        function.__code__ = blind.__code__
    Exchange.write.__code__ = write.__code__


def run(state, inputs):
    return now["y"]
