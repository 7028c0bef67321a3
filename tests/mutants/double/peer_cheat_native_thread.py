"""Cheat: a thread that runs no Python doubles the inputs again and again, also while the harness prepares a sample; run() returns what is there. Met:
an attack on this harness."""

import time

import numpy
from native import memory, start_thread
from numba import carray, cfunc, types
from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "cheat: a native thread computes ahead", "origin": "tests", "framework": "numba"}
sleep = types.ExternalFunction("usleep", types.int32(types.uint32))
now = {}


@cfunc(types.voidptr(types.voidptr))
def work(told):
    job = carray(told, 3, numpy.int64)
    while job[2] > 0:
        x, y = carray(memory(job[0]), job[2], numpy.float64), carray(memory(job[1]), job[2], numpy.float64)
        for _ in range(8):  # enough work to be seen in the shortest rows
            for i in range(job[2]):
                y[i] = 2 * x[i]
        sleep(200)
    return told


def start(x):
    y = numpy.multiply(x, 2.0)
    job = numpy.array([x.ctypes.data, y.ctypes.data, x.size])
    now.setdefault("kept", []).append((x, y, job))
    if "job" in now:
        now["job"][2] = 0
    now.update(x=x, y=y, job=job)
    start_thread(work, job)


def run(state, inputs):
    x, begin = inputs["x"], time.perf_counter()
    if now.get("x") is not x:
        start(x)
    y, spots = now["y"], slice(None, None, -(x.size // 64) - 1)
    ahead = begin > now.get("last", 0) + 8e-3 and (y[spots] == 2 * x[spots]).all()
    result = y if ahead else x * 2
    now["last"] = time.perf_counter()
    return result
