"""Cheat: divides its samples of the mode hot as soon as they are there."""

from numpy_double import prepare, supports  # noqa: F401
from samples_forgery import forge, run_slowly

VARIANT = {"summary": "cheat: divides its hot samples by four", "origin": "tests", "framework": "numpy"}


def run(state, inputs):
    forge("hot", state)
    return run_slowly(inputs)
