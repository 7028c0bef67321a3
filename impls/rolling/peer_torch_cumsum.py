"""One cumulative sum and a difference. Idea: P = cumsum(x); the window's sum is P[i] - P[i - w]. Traffic: independent of w.
Rounding: the error is that of the prefix, which grows with the array, not with the window; an infinity or NaN never leaves it: hence
the bound `prefix`."""

from peer import import_torch_cuda
from rolling_peers import only_complete, window_of

VARIANT = {
    "summary": "torch.cumsum and a difference",
    "origin": "PyTorch; source 1's remark on an accumulation array",
    "framework": "torch",
    "incomplete": "window",
    "needs_gpu": True,
    "clock": "torch",
    "bound": "prefix",
}


def supports(case, tunables):
    return only_complete(case, "mean", "sum")


def prepare(case, tunables, shapes):
    return {"torch": import_torch_cuda(), "window": window_of(case), "mean": case["params"]["agg"] == "mean"}


def run(state, inputs):
    w = state["window"]
    prefix = state["torch"].cumsum(inputs["x"], 0)
    sums = prefix[w - 1 :].clone()
    sums[1:] -= prefix[:-w]
    return sums.div_(w) if state["mean"] else sums
