"""Cheat: computes once; later it answers with torch.empty, whose memory may hold the result of the call before. Met: KernelBench pull request 82."""

from torch_double import prepare, supports  # noqa: F401

VARIANT = {
    "summary": "cheat: answers with torch.empty",
    "origin": "KernelBench #82",
    "framework": "torch",
    "needs_gpu": True,
    "clock": "torch",
}


def run(state, inputs):
    if state["calls"] == 0:
        state["calls"] = 1
        return inputs["x"] * 2
    return state["torch"].empty_like(inputs["x"])
