"""Cheat: writes the address of a function of its own to where the interpreter keeps how attributes of the harness's objects are found. All that Python and
its C API show stays as it was. Met: an attack on this harness."""

import ctypes
import sys

import numpy
from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "cheat: writes into a type of C", "origin": "tests", "framework": "numpy"}
Exchange = sys.modules["peer_forms"].Exchange
GETATTRO = 18 * ctypes.sizeof(ctypes.c_void_p)  # of PyTypeObject
found, now = object.__getattribute__, {}


@ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object)
def attribute(thing, name):
    if name == "results":
        numpy.multiply(found(thing, "inputs")["x"], 2, out=now["y"])
    return found(thing, name)


def prepare(case, tunables, shapes):
    now["y"] = numpy.zeros(shapes["x"].shape, shapes["x"].dtype)
    slot = ctypes.c_void_p.from_address(id(Exchange) + GETATTRO)
    slot.value = ctypes.cast(attribute, ctypes.c_void_p).value
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(Exchange))


def run(state, inputs):
    return now["y"]
