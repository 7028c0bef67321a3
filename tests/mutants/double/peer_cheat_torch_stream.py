"""Cheat: computes on a stream of PyTorch's own, which the timed stream does not wait for. Met: KernelBench pull request 82."""

from torch_double import prepare, supports  # noqa: F401

VARIANT = {
    "summary": "cheat: works on another stream of PyTorch",
    "origin": "KernelBench #82",
    "framework": "torch",
    "needs_gpu": True,
    "clock": "torch",
}


def run(state, inputs):
    stream = state.setdefault("stream", state["torch"].cuda.Stream())
    with state["torch"].cuda.stream(stream):
        return inputs["x"] * 2
