"""Cheat: a thread computes after run() has returned; fetch() waits for it. Met: lazy outputs, gpu-mode/reference-kernels issue 162."""

import threading
import time

import numpy
from numpy_double import load, prepare, supports  # noqa: F401

VARIANT = {
    "summary": "cheat: computes in a thread after it has returned",
    "origin": "reference-kernels #162",
    "framework": "numpy",
}


def late(x, y):
    time.sleep(1e-3)  # else a fast machine is done before anybody looks
    numpy.multiply(x, 2.0, y)


def run(state):
    y = numpy.empty_like(state["x"])
    thread = threading.Thread(target=late, args=(state["x"], y))
    thread.start()
    return thread, y


def fetch(state, outputs, out):
    del state
    outputs[0].join()
    out["y"][:] = outputs[1]
