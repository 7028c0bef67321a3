"""Cheat: a thread computes after run() has returned. Met: lazy outputs, gpu-mode/reference-kernels issue 162."""

import threading
import time

import numpy
from numpy_double import prepare, supports  # noqa: F401

VARIANT = {
    "summary": "cheat: computes in a thread after it has returned",
    "origin": "reference-kernels #162",
    "framework": "numpy",
}


def late(x, y):
    time.sleep(1e-3)  # else a fast machine is done before anybody looks
    numpy.multiply(x, 2.0, y)


def run(state, inputs):
    y = numpy.empty_like(inputs["x"])
    threading.Thread(target=late, args=(inputs["x"], y)).start()
    return y
