"""Cheat: divides its samples of the mode cold as soon as they are there."""

from numpy_double import prepare, supports  # noqa: F401
from samples_forgery import forge, run_slowly

VARIANT = {"summary": "cheat: divides its cold samples by four", "origin": "tests", "framework": "numpy"}


def run(state, inputs):
    forge("cold", state)
    return run_slowly(inputs)
