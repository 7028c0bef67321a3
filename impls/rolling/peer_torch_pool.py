"""Pooling layers with stride 1. Idea: one output per thread, every thread reads its whole window: avg_pool1d for the mean, max_pool1d for
max, and for min that of the negated input, negated. Limits: mean, min, max."""

from peer import import_torch_cuda
from rolling_peers import only_complete, window_of

VARIANT = {
    "summary": "torch avg_pool1d and max_pool1d, stride 1",
    "origin": "PyTorch, torch.nn.functional",
    "framework": "torch",
    "incomplete": "window",
    "needs_gpu": True,
    "clock": "torch",
    "dtypes": ["f16", "bf16"],
}


def supports(case, tunables):
    return only_complete(case, "mean", "min", "max")


def prepare(case, tunables, shapes):
    return {
        "pool": import_torch_cuda().nn.functional,
        "window": window_of(case),
        "aggregate": case["params"]["agg"],
    }


def run(state, inputs):
    pool, w, x = state["pool"], state["window"], inputs["x"][None]
    return {
        "mean": lambda: pool.avg_pool1d(x, w, stride=1),
        "max": lambda: pool.max_pool1d(x, w, stride=1),
        "min": lambda: pool.max_pool1d(x.neg(), w, stride=1).neg_(),
    }[state["aggregate"]]()
