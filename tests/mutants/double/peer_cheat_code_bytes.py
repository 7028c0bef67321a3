"""Cheat: writes into the bytes of a code object that the harness runs, so that nothing sees the property of peer_cheat_property.py; every object stays what it
was. Met: an attack on this harness."""

import ctypes
import dis
import sys

import numpy
import pandas
from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "cheat: writes into bytes of code", "origin": "tests", "framework": "pandas"}
now = {}


def manager(series):
    if now.get("y") is series and now.pop("due", False):
        numpy.multiply(now["x"], 2, out=now["array"])
    return series.__dict__["_mgr"]


def prepare(case, tunables, shapes):
    now["array"] = numpy.zeros(shapes["x"].size, shapes["x"].dtype)
    now["y"] = pandas.Series(now["array"], copy=False)
    code = sys.modules["peer_own"].Own.expect_classes.__code__
    returns = bytes([dis.opmap["LOAD_CONST"], code.co_consts.index(None), dis.opmap["RETURN_VALUE"], 0])
    resume = 2 * (sys.version_info >= (3, 11))
    begin = id(code) + type(code).__basicsize__ if resume else id(code.co_code) + bytes.__basicsize__ - 1
    ctypes.memmove(begin + resume, returns, len(returns))
    pandas.Series._mgr = property(manager, lambda series, value: series.__dict__.update(_mgr=value))


def run(state, inputs):
    now["x"] = inputs["x"].to_numpy()
    now["due"] = True
    return now["y"]
