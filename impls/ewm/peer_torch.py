"""PyTorch on the GPU as matrix products: see torch_scan.py. Idea: the discounted sum to the left with q, over the weights' sum in closed
form; without adjust, of alpha x with x[0] as it is. The matrix of powers and the weights' sums are made before the timed call. Limits: mean; a NaN or
infinity spoils its chunk of 128 and all that follows, so nan=decay is right for inputs without one; one series."""

from ewm_peers import adjusted, decay, weight_sums
from peer import import_torch_cuda, torch_device
from scan_peers import only
from torch_scan import powers, scan

VARIANT = {
    "summary": "PyTorch: chunks of 128 times a matrix of powers",
    "origin": "PyTorch; chunked linear recurrences as matrix products",
    "framework": "torch",
    "incomplete": "min_periods",
    "needs_gpu": True,
    "clock": "torch",
}


def supports(case, tunables):
    return only(case, agg=("mean",), segments=("none",))


def prepare(case, tunables, shapes):
    torch, (alpha, q), n = import_torch_cuda(), decay(case), shapes["x"].size
    dtype, double = getattr(torch, shapes["x"].dtype.name), {"dtype": torch.float64, "device": torch_device()}
    return {
        "torch": torch,
        "alpha": alpha,
        "adjust": adjusted(case),
        "levels": powers(torch, torch.tensor([q], **double), n, False, dtype),
        "weights": weight_sums(torch, q, torch.arange(n, **double)).to(dtype) if adjusted(case) else None,
    }


def run(state, inputs):
    torch, x = state["torch"], inputs["x"]
    if x.numel() == 0:
        return x
    if state["adjust"]:
        return scan(torch, x[None], state["levels"], False)[0].div_(state["weights"])
    scaled = x * state["alpha"]
    scaled[:1] = x[:1]
    return scan(torch, scaled[None], state["levels"], False)[0]
