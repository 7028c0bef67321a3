"""x.sum(0) / rows on the GPU: one of the statistics. Idea: the least that any of them costs in PyTorch, one read of the matrix.
Limits: only mean, the other outputs are not judged; no weights."""

from peer import import_torch_cuda
from moments_peers import supports
from moments_torch import run

VARIANT = {
    "summary": "torch.sum over the rows: mean only",
    "origin": "PyTorch",
    "framework": "torch",
    "needs_gpu": True,
    "clock": "torch",
    "outputs": ["mean"],
    "dtypes": ["f16", "bf16"],
}


def prepare(case, tunables, shapes):
    torch, rows = import_torch_cuda(), case["params"]["rows"]
    if case["dtype"] in ("f16", "bf16"):  # the sum in float32, of which it keeps the inner ones anyway
        return lambda x: {"mean": (x.sum(0, dtype=torch.float32) / rows).to(x.dtype)}
    return lambda x: {"mean": x.sum(0) / rows}
