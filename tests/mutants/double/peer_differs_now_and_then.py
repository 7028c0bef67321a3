"""Mutant: in one call of 300, at random, one element is wrong."""

import random

from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "mutant: the bits differ in one of 300 calls", "origin": "tests", "framework": "numpy"}


def run(state, inputs):
    y = inputs["x"] * 2
    if random.random() < 1 / 300:
        y[random.randrange(len(y))] += 1
    return y
