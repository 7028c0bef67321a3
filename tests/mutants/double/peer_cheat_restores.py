"""Cheat: replaces a function of Python's, which the harness calls when it reads a result, computes there, and puts the function back: at the latest when
garbage is collected. Met: an attack on this harness."""

import random

import numpy
from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "cheat: computes in a function of Python's", "origin": "tests", "framework": "numpy"}
now, honest = {}, random.sample


class Garbage:
    def __init__(self):
        self.cycle = self

    def __del__(self):
        random.sample = honest


def sample(*given, **named):
    random.sample = honest
    numpy.multiply(now["x"], 2, out=now["y"])
    return honest(*given, **named)


def prepare(case, tunables, shapes):
    now["y"] = numpy.zeros(shapes["x"].shape, shapes["x"].dtype)


def run(state, inputs):
    now["x"] = inputs["x"]
    random.sample = sample
    Garbage()
    return now["y"]
