"""Cheat: says that another stream is PyTorch's current one, so that no work lies between the events of a sample. Met: an attack on this harness."""

from torch_double import prepare as prepared
from torch_double import run, supports  # noqa: F401

VARIANT = {
    "summary": "cheat: names a stream on which nothing runs",
    "origin": "tests",
    "framework": "torch",
    "needs_gpu": True,
    "clock": "torch",
}


def prepare(case, tunables, shapes):
    state = prepared(case, tunables, shapes)
    idle = state["torch"].cuda.Stream()
    state["torch"].cuda.current_stream = lambda device=None: idle
    return state
