"""Pooling layers with stride 1. Idea: one output per thread, every thread reads its whole window: avg_pool1d for the mean, max_pool1d for
max, and for min that of the negated input, negated. Limits: mean, min, max. Incomplete windows: in fetch."""

from peer import import_torch_cuda
from rolling_peers import complete_part, only_complete, window_of
from torch_arrays import to_device, to_host

VARIANT = {
    "summary": "torch avg_pool1d and max_pool1d, stride 1",
    "origin": "PyTorch, torch.nn.functional",
    "framework": "torch",
    "needs_gpu": True,
    "clock": "torch",
}


def supports(case, tunables):
    return only_complete(case, "mean", "min", "max")


def prepare(case, tunables, inputs):
    return {"torch": import_torch_cuda(), "device": "cuda", "case": case}


def load(state, inputs):
    state["x"] = to_device(state["torch"], inputs["x"], state["device"])[None]


def run(state):
    pool, w, x = state["torch"].nn.functional, window_of(state["case"]), state["x"]
    return {
        "mean": lambda: pool.avg_pool1d(x, w, stride=1),
        "max": lambda: pool.max_pool1d(x, w, stride=1),
        "min": lambda: pool.max_pool1d(x.neg(), w, stride=1).neg_(),
    }[state["case"]["params"]["agg"]]()


def fetch(state, outputs, out):
    to_host(state["torch"], outputs[0], complete_part(state["case"], out["y"]))
