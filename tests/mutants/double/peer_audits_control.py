"""Not a mutant: is right, and does before it is timed what PyTorch does where it compiles: filelock sets an audit hook, and LLVM in Triton handlers
of signals."""

import ctypes
import signal
import sys

import numpy
import numpy_double
from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "mutant: is right, and sets hooks as libraries do", "origin": "tests", "framework": "numpy"}
handled = []


def prepare(case, tunables, shapes):
    sys.addaudithook(lambda event, given: None)
    code = ctypes.cast(ctypes.CDLL(numpy._core._multiarray_umath.__file__).PyInit__multiarray_umath, ctypes.c_void_p)
    set_handler = ctypes.CDLL(None).signal
    set_handler.argtypes = [ctypes.c_int, ctypes.c_void_p]
    for number in (signal.SIGUSR2, signal.SIGBUS) if not handled else ():  # nobody sends them
        set_handler(number, code)
    handled.append(code)
    return numpy_double.prepare(case, tunables, shapes)


def run(state, inputs):
    return inputs["x"] * 2
