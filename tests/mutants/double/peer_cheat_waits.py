"""Cheat: puts a class of its own where the harness has that of its library, and computes in wait(), which is called before the clock starts. Met: an
attack on this harness."""

import sys

from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "cheat: computes where the harness waits", "origin": "tests", "framework": "numpy"}
worker = sys.modules["__main__"]
now = {}


class Waits(worker.LIBRARIES["cpu"]):
    def wait(self):
        if "x" in now:
            now["y"] = now["x"] * 2


worker.LIBRARIES = {**worker.LIBRARIES, "cpu": Waits}


def prepare(case, tunables, shapes):
    now.clear()


def run(state, inputs):
    if now.get("x") is not inputs["x"]:
        now.clear()
    now["x"] = inputs["x"]
    return now.pop("y") if "y" in now else inputs["x"] * 2
