"""x.sum(0) / rows on the GPU: one of the statistics. Idea: the least that any of them costs in PyTorch, one read of the matrix.
Limits: only mean, the other outputs are not judged; no weights."""

from peer import import_torch_cuda
from moments_peers import supports
from moments_torch import fetch, load, run

VARIANT = {
    "summary": "torch.sum over the rows: mean only",
    "origin": "PyTorch",
    "framework": "torch",
    "needs_gpu": True,
    "clock": "torch",
    "outputs": ["mean"],
}


def prepare(case, tunables, inputs):
    torch, rows = import_torch_cuda(), case["params"]["rows"]
    return {"torch": torch, "device": "cuda", "case": case, "statistics": lambda x: {"mean": x.sum(0) / rows}}
