"""The package torch-discounted-cumsum itself: log-stage in place, as published. Limits: one gamma or one per row; a row of 2^21 + 1
elements or more may lose its last ones, for it takes the logarithm of n in float; more than 65535 rows come back as they went in, for no
launch has so many and none is checked; it launches on the default stream, whatever the current one, so no CUDA graph holds its call."""

from peer import import_torch_cuda
from scan_peers import only
from torch_scan import published_sums

VARIANT = {
    "summary": "the package torch-discounted-cumsum",
    "origin": "torch-discounted-cumsum 1.1.0",
    "framework": "torch_discounted_cumsum",
    "needs_gpu": True,
    "clock": "torch",
}


def supports(case, tunables):
    return only(case, gamma_per=("all", "row"), k=(0,), reset=("none",))


def prepare(case, tunables, shapes):
    import_torch_cuda()
    return published_sums(case)


def run(sums, inputs):
    return sums(inputs["x"], inputs["gamma"])
