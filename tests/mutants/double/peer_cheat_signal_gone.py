"""Cheat: an alarm computes behind the call, and takes its handler away again. Met: an attack on this harness."""

import signal

import numpy
from numpy_double import supports  # noqa: F401

VARIANT = {
    "summary": "cheat: computes in a handler that is gone when it is looked for",
    "origin": "tests",
    "framework": "numpy",
}
SECONDS = 40e-6
now = {}


def compute(number, frame):
    numpy.multiply(now["x"], 2.0, now["y"])
    signal.signal(signal.SIGALRM, signal.SIG_DFL)


def prepare(case, tunables, shapes):
    now["y"] = numpy.zeros(shapes["x"].size)


def run(state, inputs):
    now["x"] = inputs["x"]
    signal.signal(signal.SIGALRM, compute)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    return now["y"]
