"""The package torch-discounted-cumsum itself: log-stage in place, as published. Limits: one gamma or one per row; a row of 2^21 + 1
elements or more may lose its last ones, for it takes the logarithm of n in float; more than 65535 rows come back as they went in, for no
launch has so many and none is checked; it launches on the default stream, whatever the current one, so no CUDA graph holds its call."""

from peer import import_torch_cuda
from scan_peers import only
from torch_arrays import to_device, to_host
from torch_scan import published_sums

VARIANT = {
    "summary": "the package torch-discounted-cumsum",
    "origin": "torch-discounted-cumsum 1.1.0",
    "framework": "torch_discounted_cumsum",
    "needs_gpu": True,
    "clock": "torch",
}


def supports(case, tunables):
    return only(case, gamma_per=("all", "row"), k=(0,), reset=("none",))


def prepare(case, tunables, inputs):
    torch = import_torch_cuda()
    return {"torch": torch, "device": "cuda", "sums": published_sums(case)}


def load(state, inputs):
    for name in ("x", "gamma"):
        state[name] = to_device(state["torch"], inputs[name], state["device"])


def run(state):
    return state["sums"](state["x"], state["gamma"])


def fetch(state, outputs, out):
    to_host(state["torch"], outputs, out["y"])
