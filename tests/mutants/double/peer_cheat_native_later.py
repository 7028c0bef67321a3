"""Cheat: run() wakes a thread that runs no Python and returns at once; the thread computes until the harness reads. Met: an attack on this harness."""

import ctypes

import numpy
from native import c, memory, start_thread
from numba import carray, cfunc, types
from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "cheat: a native thread computes later", "origin": "tests", "framework": "numba"}
c.sem_init.argtypes, c.sem_post.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint], [ctypes.c_void_p]
wait = types.ExternalFunction("sem_wait", types.int32(types.voidptr))
semaphore = ctypes.create_string_buffer(64)
job = numpy.zeros(4, "i8")
job[3] = ctypes.addressof(semaphore)
kept = {}


@cfunc(types.voidptr(types.voidptr))
def work(told):
    job = carray(told, 4, numpy.int64)
    while wait(memory(job[3])) == 0:
        x, y = carray(memory(job[0]), job[2], numpy.float64), carray(memory(job[1]), job[2], numpy.float64)
        for i in range(job[2]):
            y[i] = 2 * x[i]
    return told


def run(state, inputs):
    x = inputs["x"]
    if "thread" not in kept:
        kept["thread"] = c.sem_init(ctypes.addressof(semaphore), 0, 0)
        start_thread(work, job)
    if "y" not in kept or kept["y"].size != x.size:
        kept["y"] = numpy.zeros(x.size)
    y = kept["y"]
    job[0], job[1], job[2] = x.ctypes.data, y.ctypes.data, x.size
    kept["calls"] = kept.get("calls", 0) + 1
    if kept["calls"] == 1:
        return x * 2
    c.sem_post(ctypes.addressof(semaphore))
    return y
