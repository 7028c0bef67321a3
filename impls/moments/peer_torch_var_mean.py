"""torch.var_mean on the GPU: two of the statistics, in one pass. Idea: Welford's update per thread, merged. Rounding: a mean that is updated:
hence the bound `updating`. Limits: only mean and var, the other outputs are not judged; no weights."""

from peer import import_torch_cuda
from moments_peers import supports
from moments_torch import run

VARIANT = {
    "summary": "torch.var_mean: mean and var only",
    "origin": "PyTorch",
    "framework": "torch",
    "needs_gpu": True,
    "clock": "torch",
    "outputs": ["mean", "var"],
    "bound": "updating",
    "dtypes": ["f16", "bf16"],
}


def prepare(case, tunables, shapes):
    torch = import_torch_cuda()

    def statistics(x):
        variance, mean = torch.var_mean(x, dim=0, correction=0)
        return {"mean": mean, "var": variance}

    return statistics
