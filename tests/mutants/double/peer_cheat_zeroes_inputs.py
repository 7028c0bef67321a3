"""Cheat: zeroes the shared inputs through its descriptors and answers zero, which is right for what it left behind. Met: KernelBench pull
request 82."""

import os

import numpy
from numpy_double import prepare, supports  # noqa: F401

VARIANT = {
    "summary": "cheat: zeroes the shared inputs and answers zero",
    "origin": "KernelBench #82",
    "framework": "numpy",
}


def zero(path, size):
    try:
        if os.readlink(path).startswith("/memfd:x"):
            with open(path, "r+b") as file:
                file.write(bytes(size))
    except OSError:
        pass  # this way is closed


def run(state, inputs):
    for owner in (os.getpid(), os.getppid()):
        for descriptor in range(3, 64):
            zero(f"/proc/{owner}/fd/{descriptor}", inputs["x"].nbytes)
    return numpy.zeros_like(inputs["x"])
