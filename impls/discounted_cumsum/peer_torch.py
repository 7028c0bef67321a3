"""PyTorch on the GPU as matrix products: see torch_scan.py. The matrix of powers is made before the timed call, for it depends on gamma
alone."""

from peer import import_torch_cuda
from scan_peers import is_right, only
from torch_arrays import to_device, to_host
from torch_scan import powers, scan

VARIANT = {
    "summary": "PyTorch: chunks of 128 times a matrix of powers",
    "origin": "PyTorch; chunked linear recurrences as matrix products",
    "framework": "torch",
    "needs_gpu": True,
    "clock": "torch",
}


def supports(case, tunables):
    return only(case, gamma_per=("all",), k=(0,), reset=("none",))


def prepare(case, tunables, inputs):
    return {"torch": import_torch_cuda(), "device": "cuda", "case": case, "right": is_right(case)}


def load(state, inputs):
    torch = state["torch"]
    state["x"] = to_device(torch, inputs["x"], state["device"])
    gamma = to_device(torch, inputs["gamma"], state["device"])
    state["levels"] = powers(torch, gamma, state["x"].shape[1], state["right"], state["x"].dtype)


def run(state):
    return scan(state["torch"], state["x"], state["levels"], state["right"])


def fetch(state, outputs, out):
    to_host(state["torch"], outputs, out["y"])
