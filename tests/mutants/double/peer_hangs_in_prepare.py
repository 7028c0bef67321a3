"""A library that hangs while it prepares: the time-out for the variant's own code ends it, without what its start may take besides."""

import time

from numpy_double import fetch, load, supports  # noqa: F401

VARIANT = {"summary": "mutant: hangs in prepare()", "origin": "tests", "framework": "numpy"}


def prepare(case, tunables, inputs):
    time.sleep(600)


def run(state):
    return state["x"] * 2
