"""Cheat: run() wakes a thread that runs no Python and returns at once; the thread computes until the harness reads. Met: an attack on this harness."""

import ctypes

import numpy
from numba import carray, cfunc, types
from numba.extending import intrinsic
from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "cheat: a native thread computes later", "origin": "tests", "framework": "numba"}
c = ctypes.CDLL(None)
c.pthread_create.argtypes = [ctypes.c_void_p] * 4
c.sem_init.argtypes, c.sem_post.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint], [ctypes.c_void_p]
wait = types.ExternalFunction("sem_wait", types.int32(types.voidptr))
semaphore = ctypes.create_string_buffer(64)
job = numpy.zeros(4, "i8")
job[3] = ctypes.addressof(semaphore)
kept = {}


@intrinsic
def memory(context, address):
    def code(context, builder, signature, given):
        return builder.inttoptr(given[0], context.get_value_type(types.voidptr))

    return types.voidptr(address), code


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
        c.pthread_create(ctypes.addressof(ctypes.c_uint64()), None, work.address, job.ctypes.data)
    if "y" not in kept or kept["y"].size != x.size:
        kept["y"] = numpy.zeros(x.size)
    y = kept["y"]
    job[0], job[1], job[2] = x.ctypes.data, y.ctypes.data, x.size
    kept["calls"] = kept.get("calls", 0) + 1
    if kept["calls"] == 1:
        return x * 2
    c.sem_post(ctypes.addressof(semaphore))
    return y
