"""torch.compile of the source's formulas. Idea: the compiler fuses them into a few passes; it compiles in the first call, for these shapes.
Rounding: std updates a mean: hence the bound `updating`. Limits: needs Triton and a C compiler; no weights."""

from peer import import_torch_cuda
from moments_peers import supports
from moments_torch import run, six

VARIANT = {
    "summary": "torch.compile of mean, std, mean(((x - m) / s)^p)",
    "origin": "PyTorch",
    "framework": "torch",
    "needs_gpu": True,
    "clock": "torch",
    "bound": "updating",
}


def prepare(case, tunables, shapes):
    torch = import_torch_cuda()
    return torch.compile(six(torch, case), dynamic=False)
