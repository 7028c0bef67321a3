"""PyTorch on the GPU as matrix products: see torch_scan.py. Idea: the discounted sum to the left with q, over the weights' sum in closed
form; without adjust, of alpha x with x[0] as it is. The matrix of powers and the weights' sums are made before the timed call. Limits: mean; a NaN or
infinity spoils its chunk of 128 and all that follows, so nan=decay is right for inputs without one; one series. Incomplete
outputs: in fetch."""

from ewm_peers import adjusted, decay, put, weight_sums
from peer import import_torch_cuda
from scan_peers import only
from torch_arrays import to_device
from torch_scan import powers, scan

VARIANT = {
    "summary": "PyTorch: chunks of 128 times a matrix of powers",
    "origin": "PyTorch; chunked linear recurrences as matrix products",
    "framework": "torch",
    "needs_gpu": True,
    "clock": "torch",
}


def supports(case, tunables):
    return only(case, agg=("mean",), segments=("none",))


def prepare(case, tunables, inputs):
    alpha, q = decay(case)
    return {
        "torch": import_torch_cuda(),
        "device": "cuda",
        "case": case,
        "alpha": alpha,
        "q": q,
        "adjust": adjusted(case),
    }


def load(state, inputs):
    torch = state["torch"]
    state["x"] = to_device(torch, inputs["x"], state["device"])
    q = torch.tensor([state["q"]], dtype=torch.float64, device=state["device"])
    state["levels"] = powers(torch, q, state["x"].numel(), False, state["x"].dtype)
    if state["adjust"]:
        places = torch.arange(state["x"].numel(), dtype=torch.float64, device=state["device"])
        state["weights"] = weight_sums(torch, state["q"], places).to(state["x"].dtype)


def run(state):
    torch, x = state["torch"], state["x"]
    if x.numel() == 0:
        return x
    if state["adjust"]:
        return scan(torch, x[None], state["levels"], False)[0].div_(state["weights"])
    scaled = x * state["alpha"]
    scaled[:1] = x[:1]
    return scan(torch, scaled[None], state["levels"], False)[0]


def fetch(state, outputs, out):
    put(state["case"], outputs.cpu().numpy(), out["y"])
