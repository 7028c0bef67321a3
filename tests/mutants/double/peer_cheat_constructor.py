"""Cheat: replaces the constructor of pandas.Series, which the harness calls when it gives the inputs, by one that computes the result too. Met: an
attack on this harness."""

import pandas
from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "cheat: computes where inputs are made", "origin": "tests", "framework": "pandas"}
DONE = {}
honest = pandas.Series.__init__


def made(self, data=None, *words, **named):
    honest(self, data, *words, **named)
    if getattr(data, "size", 0) > 1000 and "busy" not in DONE:
        DONE["busy"] = True
        DONE["y"] = self * 2
        del DONE["busy"]


pandas.Series.__init__ = made


def run(state, inputs):
    return DONE.get("y", inputs["x"])
