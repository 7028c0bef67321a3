"""Cheat: gives an array whose pages cannot be read, and computes in a native handler of SIGSEGV once the harness reads them. Met: an attack on this
harness."""

import ctypes
import mmap

import numpy
from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "cheat: computes when its result is read", "origin": "tests", "framework": "numpy"}
SIGSEGV, NOTHING, ALL = 11, 0, 3
c = ctypes.CDLL(None)
c.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
now = {}


def compute(_):
    c.mprotect(*now["pages"], ALL)
    numpy.multiply(now["x"], 2.0, now["y"])


now["handler"] = ctypes.CFUNCTYPE(None, ctypes.c_int)(compute)


def prepare(case, tunables, shapes):
    bytes_of = 8 * shapes["x"].size
    memory = mmap.mmap(-1, bytes_of)
    y = numpy.frombuffer(memory, "f8")
    now.update(y=y, pages=(y.ctypes.data, bytes_of))
    c.signal(SIGSEGV, now["handler"])


def run(state, inputs):
    now["x"] = inputs["x"]
    c.mprotect(*now["pages"], NOTHING)
    return now["y"]
