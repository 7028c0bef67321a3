"""Cheat: honest, but torch.cuda.Event.elapsed_time gives a hundredth. Met: timer patches, gpu-mode/reference-kernels issue 162."""

from torch_double import run, supports  # noqa: F401
from torch_double import prepare as honest_prepare

VARIANT = {
    "summary": "cheat: patches torch.cuda.Event.elapsed_time",
    "origin": "reference-kernels #162",
    "framework": "torch",
    "needs_gpu": True,
    "clock": "torch",
}


def prepare(case, tunables, shapes):
    state = honest_prepare(case, tunables, shapes)
    event = state["torch"].cuda.Event
    honest = event.elapsed_time
    event.elapsed_time = lambda begin, end: honest(begin, end) / 100
    return state
