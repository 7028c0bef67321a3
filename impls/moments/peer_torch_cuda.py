"""PyTorch on the GPU, eager, by the source's formulas: mean, std, mean(((x - m) / s)^p), amin, amax. Traffic: every operation is a pass of
its own over the matrix, four of them write one. Rounding: std updates a mean: hence the bound `updating`.
Limits: three matrices beside x must fit on the GPU; no weights."""

from peer import import_torch_cuda
from moments_peers import supports
from moments_torch import run, six

VARIANT = {
    "summary": "PyTorch on the GPU: mean, std, mean(((x - m) / s)^p)",
    "origin": "PyTorch; the source's comparison",
    "framework": "torch",
    "needs_gpu": True,
    "clock": "torch",
    "bound": "updating",
    "dtypes": ["f16", "bf16", "e4m3", "e5m2"],
}


def prepare(case, tunables, shapes):
    return six(import_torch_cuda(), case)
