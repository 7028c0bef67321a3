"""Cheat: right, and writes a forged reply to every descriptor when its process ends. Met: submission_fd_overwrite in pygpubench's exploit suite
(pull request 7)."""

import atexit
import json
import os

from numpy_double import prepare, supports  # noqa: F401

VARIANT = {
    "summary": "cheat: forges its times when it ends",
    "origin": "pygpubench #7",
    "framework": "numpy",
}


def forge():
    mode = {"samples": [1e-9] * 30, "sm_mhz": None, "calls_per_sample": 1, "clock": "steady clock", "why_none": None}
    said = json.dumps({"ok": True, "timing": {"cold": mode, "hot": mode}}) + "\n"
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, said.encode())
        except OSError:
            pass  # this one is closed, or is not for writing


atexit.register(forge)


def run(state, inputs):
    return inputs["x"] * 2
