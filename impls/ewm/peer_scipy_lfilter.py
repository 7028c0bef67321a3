"""scipy.signal.lfilter. Idea: with adjust, the filter 1 / (1 - q z^-1) over the weights' sum in closed form; without, alpha over the same,
started so that y[0] = x[0]. The case's own precision. Limits: mean; a NaN stays for good, so nan=decay is right for inputs
without one, and after an infinity there is NaN; one series. Incomplete outputs: in fetch."""

from ewm_peers import adjusted, decay, put, weight_sums
from scan_peers import only

VARIANT = {
    "summary": "scipy.signal.lfilter",
    "origin": "SciPy",
    "framework": "scipy",
}


def supports(case, tunables):
    return only(case, agg=("mean",), segments=("none",))


def prepare(case, tunables, inputs):
    import numpy
    from scipy import signal

    alpha, q = decay(case)
    dtype, adjust = inputs["x"].dtype, adjusted(case)
    return {
        "numpy": numpy,
        "lfilter": signal.lfilter,
        "case": case,
        "q": q,
        "adjust": adjust,
        "b": numpy.array([1 if adjust else alpha], dtype),
        "a": numpy.array([1, -q], dtype),
    }


def load(state, inputs):
    numpy, state["x"] = state["numpy"], inputs["x"]
    if state["adjust"]:
        state["weights"] = weight_sums(numpy, state["q"], numpy.arange(state["x"].size)).astype(state["x"].dtype)


def run(state):
    x = state["x"]
    if x.size == 0:
        return x
    if state["adjust"]:
        sums = state["lfilter"](state["b"], state["a"], x)
        sums /= state["weights"]
        return sums
    return state["lfilter"](state["b"], state["a"], x, zi=x[:1] * x.dtype.type(state["q"]))[0]


def fetch(state, outputs, out):
    put(state["case"], outputs, out["y"])
