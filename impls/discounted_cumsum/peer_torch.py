"""PyTorch on the GPU as matrix products: see torch_scan.py. The matrix of powers is made before the timed call, for it depends on
the parameter gamma alone."""

from peer import import_torch_cuda, torch_device
from scan_peers import is_right, only
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


def prepare(case, tunables, shapes):
    torch, right, dtype = import_torch_cuda(), is_right(case), shapes["x"].dtype.name
    gamma = torch.tensor([float(case["params"]["gamma"])], dtype=getattr(torch, dtype), device=torch_device())
    return {"torch": torch, "right": right, "levels": powers(torch, gamma, shapes["x"].shape[1], right, gamma.dtype)}


def run(state, inputs):
    return scan(state["torch"], inputs["x"], state["levels"], state["right"])
