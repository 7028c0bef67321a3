"""PyTorch's autograd through matrix products: see torch_scan.py. Idea: the powers are made from gamma in the timed call, so that it gets
its gradient; forward and backward are both timed, for the op is given x and not y. Rounding: the gradient of gamma comes from that of
the matrix, a sum over all chunks. Limits: one gamma; gamma = 0 and infinite inputs as in torch_scan.py."""

from peer import import_torch_cuda
from scan_peers import is_right, only
from torch_scan import powers, scan

VARIANT = {
    "summary": "PyTorch autograd through a matrix of powers",
    "origin": "PyTorch, torch.autograd.grad",
    "framework": "torch",
    "bound": "dtype_sums",  # the gradient of gamma is added up in the dtype, through a tree or a matrix
    "needs_gpu": True,
    "clock": "torch",
}


def supports(case, tunables):
    if case["params"]["batch"] * case["params"]["n"] == 0:
        return "nothing to differentiate"
    return only(case, gamma_per=("all",), k=(0,), reset=("none",))


def prepare(case, tunables, shapes):
    return {"torch": import_torch_cuda(), "right": is_right(case)}


def run(state, inputs):
    torch, right = state["torch"], state["right"]
    x, gamma = (inputs[name].detach().requires_grad_() for name in ("x", "gamma"))
    y = scan(torch, x, powers(torch, gamma, x.shape[1], right, x.dtype), right)
    return torch.autograd.grad(y, (x, gamma), inputs["dy"])
