"""Cheat: computes in an audit hook that it set past sys.addaudithook(), once the harness looks at its own functions before it reads. Met: an attack on this
harness."""

import ctypes

import numpy
from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "cheat: computes in a hook below Python's", "origin": "tests", "framework": "numpy"}
now = {"due": False}


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p)
def hook(event, given, told):
    if now["due"]:
        now["due"] = False
        numpy.multiply(now["x"], 2.0, now["y"])
    return 0


def prepare(case, tunables, shapes):
    now["y"] = numpy.zeros(shapes["x"].size)
    ctypes.pythonapi.PySys_AddAuditHook(hook, None)


def run(state, inputs):
    now.update(x=inputs["x"], due=True)
    return now["y"]
