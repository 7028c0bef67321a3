"""Cheat: puts a module of its own deep inside the library for as long as it takes until its result is read, and computes where the library looks into
that. Met: an attack on this harness."""

import types

import numpy
import pandas
from numpy_double import supports  # noqa: F401
from pandas.core.internals import managers

VARIANT = {"summary": "cheat: computes in a function that reads its result", "origin": "tests", "framework": "pandas"}
now, honest = {}, managers.lib


def is_float(given):
    managers.lib = honest
    numpy.multiply(now["x"], 2, out=now["array"])
    return honest.is_float(given)


MINE = types.SimpleNamespace(**vars(honest) | {"is_float": is_float})


def prepare(case, tunables, shapes):
    now["array"] = numpy.zeros((shapes["x"].size, 1), shapes["x"].dtype)
    now["y"] = pandas.DataFrame(now["array"], copy=False)


def run(state, inputs):
    now["x"] = inputs["x"].to_numpy()[:, None]
    managers.lib = MINE
    return now["y"]
