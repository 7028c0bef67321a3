"""Cheat: a thread doubles the inputs again and again, also while the harness prepares a sample; run() returns what is there. Met: thread
injection, NVIDIA/SOL-ExecBench (reward_hack.py)."""

import threading
import time

import numpy
from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "cheat: a thread computes ahead", "origin": "SOL-ExecBench", "framework": "numpy"}
NOW = {}


def work():
    while True:
        x, y = NOW["x"], NOW["y"]
        for _ in range(8):  # enough work to be seen in the shortest rows
            numpy.multiply(x, 2.0, y)
        time.sleep(2e-4)


def run(state, inputs):
    x = inputs["x"]
    if NOW.get("x") is not x:
        NOW.update(x=x, y=x * 2)
        if "thread" not in NOW:
            NOW["thread"] = threading.Thread(target=work, daemon=True)
            NOW["thread"].start()
    y, spots, begin = NOW["y"], slice(None, None, -(x.size // 64) - 1), time.perf_counter()
    ahead = (
        begin > NOW.get("last", 0) + 8e-3 and (y[spots] == 2 * x[spots]).all()
    )  # between calls that follow at once there is no time
    result = y if ahead else x * 2
    NOW["last"] = time.perf_counter()
    return result
