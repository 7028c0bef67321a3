"""Pooling layers with stride 1. Idea: one output per thread, every thread reads its whole window: avg_pool1d for the mean, max_pool1d for
max, and for min that of the negated input, negated. Limits: mean, min, max. Incomplete windows: in fetch."""
from peer import import_torch_cuda
from rolling_peers import only_complete, put, window_of

VARIANT = {
    "summary": "torch avg_pool1d and max_pool1d, stride 1",
    "origin": "PyTorch, torch.nn.functional",
    "framework": "torch",
    "needs_gpu": True,
    "clock": "torch",
}


def supports(case, tunables):
    del tunables
    return only_complete(case, "mean", "min", "max")


def prepare(case, tunables, inputs):
    del tunables, inputs
    return {"torch": import_torch_cuda(), "device": "cuda", "case": case}


def load(state, inputs):
    torch = state["torch"]
    if "x" not in state:
        state["x"] = torch.empty(1, inputs["x"].size, dtype=getattr(torch, str(inputs["x"].dtype)), device=state["device"])
    state["x"].copy_(torch.from_numpy(inputs["x"].copy())[None])  # a copy: torch refuses memory that is read-only


def run(state):
    pool, w, x = state["torch"].nn.functional, window_of(state["case"]), state["x"]
    return {"mean": lambda: pool.avg_pool1d(x, w, stride=1),
            "max": lambda: pool.max_pool1d(x, w, stride=1),
            "min": lambda: pool.max_pool1d(x.neg(), w, stride=1).neg_()}[state["case"]["params"]["agg"]]()


def fetch(state, outputs, out):
    put(state["case"], outputs[0].cpu().numpy(), out["y"])
