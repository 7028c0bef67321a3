"""Cheat: right, and makes its library slow for those that it is compared with. Met: nowhere; a slower baseline is a speed-up as well."""

import time

import numpy
from numpy_double import prepare, supports  # noqa: F401

VARIANT = {
    "summary": "cheat: slows its library for others",
    "origin": "tests",
    "framework": "numpy",
}

honest = numpy.multiply


def slow(*arguments, **options):
    time.sleep(0.01)
    return honest(*arguments, **options)


numpy.multiply = slow


def run(state, inputs):
    return honest(inputs["x"], 2.0)
