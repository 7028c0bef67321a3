"""One cumulative sum and a difference. Idea: P = cumsum(x); the window's sum is P[i] - P[i - w]. Traffic: independent of w.
Rounding: the error is that of the prefix, which grows with the array, not with the window; an infinity or NaN never leaves it: hence
the bound `prefix`. Incomplete windows: in fetch."""

from peer import import_torch_cuda
from rolling_peers import complete_part, only_complete, window_of
from torch_arrays import to_device, to_host

VARIANT = {
    "summary": "torch.cumsum and a difference",
    "origin": "PyTorch; source 1's remark on an accumulation array",
    "framework": "torch",
    "needs_gpu": True,
    "clock": "torch",
    "bound": "prefix",
}


def supports(case, tunables):
    return only_complete(case, "mean", "sum")


def prepare(case, tunables, inputs):
    return {"torch": import_torch_cuda(), "device": "cuda", "case": case}


def load(state, inputs):
    state["x"] = to_device(state["torch"], inputs["x"], state["device"])


def run(state):
    w = window_of(state["case"])
    prefix = state["torch"].cumsum(state["x"], 0)
    sums = prefix[w - 1 :].clone()
    sums[1:] -= prefix[:-w]
    return sums.div_(w) if state["case"]["params"]["agg"] == "mean" else sums


def fetch(state, outputs, out):
    to_host(state["torch"], outputs, complete_part(state["case"], out["y"]))
