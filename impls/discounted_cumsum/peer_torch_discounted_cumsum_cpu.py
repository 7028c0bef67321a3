"""The package torch-discounted-cumsum itself, on the CPU: the recurrence in C++ over tensors read element by element, four rows at a time,
called through PyTorch's autograd. Rounding: product and sum in the case's precision. Limits: one row, or one gamma per row: given one
gamma for several rows it reads beyond the end of gamma."""

from scan_peers import only
from torch_scan import published_sums

VARIANT = {
    "summary": "the package torch-discounted-cumsum on the CPU",
    "origin": "torch-discounted-cumsum 1.1.0",
    "framework": "torch_discounted_cumsum",
    "form": "torch",
}


def supports(case, tunables):
    if case["params"]["gamma_per"] == "all" and case["params"]["batch"] > 1:
        return "one gamma for several rows: the package reads beyond the end of gamma"
    return only(case, gamma_per=("all", "row"), k=(0,), reset=("none",))


def prepare(case, tunables, shapes):
    return published_sums(case)


def run(sums, inputs):
    return sums(inputs["x"], inputs["gamma"])
