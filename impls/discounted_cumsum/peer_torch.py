"""PyTorch on the GPU as matrix products: see torch_scan.py. The matrix of powers is made before the timed call, for it depends on
the parameter gamma alone. Of f16 and bf16 a copy in f32 is made, and the sums are rounded at the end."""

from peer import import_torch_cuda, torch_device
from scan_peers import is_right, only
from torch_scan import powers, scan

VARIANT = {
    "summary": "PyTorch: chunks of 128 times a matrix of powers",
    "origin": "PyTorch; chunked linear recurrences as matrix products",
    "framework": "torch",
    "needs_gpu": True,
    "clock": "torch",
    "dtypes": ["f16", "bf16"],
}


def supports(case, tunables):
    return only(case, gamma_per=("all",), k=(0,), reset=("none",))


def prepare(case, tunables, shapes):
    torch, right = import_torch_cuda(), is_right(case)
    dtype = torch.float64 if case["dtype"] == "f64" else torch.float32
    gamma = torch.tensor([float(case["params"]["gamma"])], dtype=dtype, device=torch_device())
    return {"torch": torch, "right": right, "levels": powers(torch, gamma, shapes["x"].shape[1], right, gamma.dtype)}


def run(state, inputs):
    x = inputs["x"]
    sums = scan(state["torch"], x.to(state["levels"][0][0].dtype), state["levels"], state["right"])
    return sums.to(x.dtype)
