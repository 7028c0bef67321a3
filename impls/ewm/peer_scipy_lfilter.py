"""scipy.signal.lfilter. Idea: with adjust, the filter 1 / (1 - q z^-1) over the weights' sum in closed form; without, alpha over the same,
started so that y[0] = x[0]. The case's own precision. Limits: mean; a NaN stays for good, so nan=decay is right for inputs
without one, and after an infinity there is NaN; one series."""

from ewm_peers import adjusted, decay, weight_sums
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

    alpha, q = decay(case)
    x, adjust = shapes["x"], adjusted(case)
    return {
        "lfilter": signal.lfilter,
        "q": q,
        "adjust": adjust,
        "b": numpy.array([1 if adjust else alpha], x.dtype),
        "a": numpy.array([1, -q], x.dtype),
        "weights": weight_sums(numpy, q, numpy.arange(x.size)).astype(x.dtype) if adjust else None,
    }


def run(state, inputs):
    x = inputs["x"]
    if x.size == 0:
        return x
    if state["adjust"]:
        sums = state["lfilter"](state["b"], state["a"], x)
        sums /= state["weights"]
        return sums
    return state["lfilter"](state["b"], state["a"], x, zi=x[:1] * x.dtype.type(state["q"]))[0]
