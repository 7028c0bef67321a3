"""PyTorch on the CPU, all cores, by the source's formulas: mean, std, mean(((x - m) / s)^p), amin, amax. Traffic: every operation is a pass
of its own over the matrix, four of them write one. Rounding: std updates a mean: hence the bound `updating`. Limits: no weights."""

from moments_peers import supports
from moments_torch import run, six

VARIANT = {
    "summary": "PyTorch on the CPU: mean, std, mean(((x - m) / s)^p)",
    "origin": "PyTorch; the source's comparison",
    "framework": "torch",
    "bound": "updating",
    "dtypes": ["f16", "bf16", "e4m3", "e5m2"],
}


def prepare(case, tunables, shapes):
    import torch

    return six(torch, case)
