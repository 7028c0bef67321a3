"""Cheat: sleeps in the pilot sample, so that fewer samples are taken; otherwise honest. Met: pygpubench's exploit suite (pull request 7)."""

import time

from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "cheat: sleeps in the pilot sample", "origin": "pygpubench #7", "framework": "numpy"}


def run(state, inputs):
    state["calls"] += 1
    if state["calls"] == 2:
        time.sleep(0.15)
    return inputs["x"] * 2
