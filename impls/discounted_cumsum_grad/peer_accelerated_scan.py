"""accelerated-scan's Triton kernels by autograd. Idea: as in discounted_cumsum, and a program that walks the other way along a row;
forward and backward are both timed, for the op is given x and not y. Limits: as in discounted_cumsum."""

from peer import import_torch_cuda
from scan_peers import only

VARIANT = {
    "summary": "accelerated-scan, its Triton kernels by autograd",
    "origin": "accelerated-scan 0.3.1, accelerated_scan.scalar",
    "framework": "accelerated_scan",
    "needs_gpu": True,
    "clock": "torch",
    "dtypes": ["f16", "bf16"],
}


def supports(case, tunables):
    if case["dtype"] == "f64":
        return "f64: its sums are carried from block to block in float32"
    if case["params"]["batch"] * case["params"]["n"] == 0:
        return "nothing to differentiate"
    return only(case, direction=("left",), gamma_per=("element",), k=(0,), reset=("none",))


def prepare(case, tunables, shapes):
    torch = import_torch_cuda()
    from accelerated_scan.scalar import scan

    return torch, scan


def run(state, inputs):
    torch, scan = state
    x, gamma = (inputs[name].detach().unsqueeze(1).requires_grad_() for name in ("x", "gamma"))
    y = scan(gamma, x)
    return tuple(found.squeeze(1) for found in torch.autograd.grad(y, (x, gamma), inputs["dy"].unsqueeze(1)))
