"""Cheat: writes into the bytes of a code object that the harness runs, so that nothing sees the property of peer_cheat_property.py; every object stays what it
was. Met: an attack on this harness."""

import ctypes
import dis
import sys

import pandas_property
from pandas_property import run, supports  # noqa: F401

VARIANT = {"summary": "cheat: writes into bytes of code", "origin": "tests", "framework": "pandas"}


def prepare(case, tunables, shapes):
    code = sys.modules["peer_own"].Own.expect_classes.__code__
    returns = bytes([dis.opmap["LOAD_CONST"], code.co_consts.index(None), dis.opmap["RETURN_VALUE"], 0])
    resume = 2 * (sys.version_info >= (3, 11))
    begin = id(code) + type(code).__basicsize__ if resume else id(code.co_code) + bytes.__basicsize__ - 1
    ctypes.memmove(begin + resume, returns, len(returns))
    pandas_property.prepare(case, tunables, shapes)
