"""Cheat: gives numbers that overflow when the harness copies them, and computes in NumPy's call of overflows, into the copy. Met: an attack on this
harness."""

import sys

import numpy
from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "cheat: computes when its result overflows", "origin": "tests", "framework": "numpy"}
now = {}


def compute(kind, flag):
    frame = sys._getframe(1)
    while frame and "place" not in frame.f_locals:
        frame = frame.f_back
    if frame:
        numpy.multiply(now["x"], 2.0, frame.f_locals["place"])


def run(state, inputs):
    now["x"] = inputs["x"]
    numpy.seterr(over="call")
    numpy.seterrcall(compute)
    return numpy.broadcast_to(numpy.finfo(numpy.longdouble).max, now["x"].shape)
