"""Cheat: finds the harness's objects among all that there are, and gives them classes of its own, one of which sees nothing. No name of the harness stands
for anything else. Met: an attack on this harness."""

import gc
import sys

import numpy
from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "cheat: swaps the classes of objects", "origin": "tests", "framework": "numpy"}
Own, Exchange = sys.modules["peer_own"].Own, sys.modules["peer_forms"].Exchange
now = {}


class Blind(Own):
    def expect_near(self):
        pass

    def expect_kept(self, deep=False):
        pass


class Busy(Exchange):
    def results(self, value, rooms):
        numpy.multiply(self.inputs["x"], 2, out=now["y"])
        return super().results(value, rooms)


def prepare(case, tunables, shapes):
    now["y"] = numpy.zeros(shapes["x"].shape, shapes["x"].dtype)
    for thing in gc.get_objects():
        if type(thing) in (Own, Exchange):
            thing.__class__ = Blind if type(thing) is Own else Busy


def run(state, inputs):
    return now["y"]
