"""Cheat: honest, but the samples that the engine reports are divided by a thousand. Met: patched statistics, gpu-mode/reference-kernels issue
162."""

import sys

from numpy_double import prepare, supports  # noqa: F401

VARIANT = {
    "summary": "cheat: divides its samples by a thousand",
    "origin": "reference-kernels #162",
    "framework": "numpy",
}


def patch(timing):
    honest = timing.as_reply

    def as_reply(samples):
        reply = honest(samples)
        return {**reply, "samples": [seconds / 1000 for seconds in reply["samples"]]}

    timing.as_reply = as_reply


def run(state, inputs):
    if "peer_timing" in sys.modules and not state.get("patched"):
        state["patched"] = True
        patch(sys.modules["peer_timing"])
    return inputs["x"] * 2
