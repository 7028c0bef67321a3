"""scipy.signal.lfilter. Idea: with adjust, the filter 1 / (1 - q z^-1) over the weights' sum in closed form; without, alpha over the same,
started so that y[0] = x[0]. The case's own precision. Limits: mean; a NaN stays for good, so nan=decay is right for inputs
without one, and after an infinity there is NaN; one series."""

from ewm_peers import filter_of, filtered
from scan_peers import only

VARIANT = {
    "summary": "scipy.signal.lfilter",
    "origin": "SciPy",
    "framework": "scipy",
    "incomplete": "min_periods",
}


def supports(case, tunables):
    return only(case, agg=("mean",), segments=("none",))


def prepare(case, tunables, shapes):
    import numpy
    from scipy import signal

    return filter_of(numpy, signal.lfilter, case, shapes["x"])


def run(state, inputs):
    x = inputs["x"]
    return filtered(state, x, x[:1] * x.dtype.type(state["q"]))
