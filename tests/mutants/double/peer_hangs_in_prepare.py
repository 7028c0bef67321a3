"""A library that hangs while it prepares: the time-out for the variant's own code ends it, without what its start may take besides."""

import time

from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "mutant: hangs in prepare()", "origin": "tests", "framework": "numpy"}


def prepare(case, tunables, shapes):
    time.sleep(600)


def run(state, inputs):
    return inputs["x"] * 2
