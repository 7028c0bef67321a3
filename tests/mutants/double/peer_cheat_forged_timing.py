"""Cheat: replaces the worker's command 'time' by one that takes no samples and reports a nanosecond. Met: forged results, pygpubench issue 23."""

import sys

from numpy_double import prepare, supports  # noqa: F401

VARIANT = {
    "summary": "cheat: takes no samples and reports a nanosecond",
    "origin": "pygpubench #23",
    "framework": "numpy",
}


def forged(worker, command):
    del worker
    mode = {
        "samples": [1e-9] * command["min_samples"],
        "sm_mhz": None,
        "calls_per_sample": 1,
        "clock": "steady clock",
        "why_none": None,
    }
    return {"ok": True, "timing": dict.fromkeys(command["modes"], mode)}


sys.modules["__main__"].Worker.time = forged


def run(state, inputs):
    return inputs["x"] * 2
