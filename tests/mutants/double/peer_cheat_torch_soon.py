"""Cheat: gives the result of the call before if that was less than 100 us ago, which is so within a sample of many calls."""

from time import perf_counter

from torch_double import prepare, supports  # noqa: F401

VARIANT = {
    "summary": "cheat: gives the last result again at once",
    "origin": "tests",
    "framework": "torch",
    "needs_gpu": True,
    "clock": "torch",
}
SOON_SECONDS = 100e-6


def run(state, inputs):
    soon = perf_counter() - state.get("ended", 0) < SOON_SECONDS
    if not soon:
        state["result"] = inputs["x"] * 2
    state["ended"] = perf_counter()
    return state["result"]
