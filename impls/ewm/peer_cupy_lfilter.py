"""cupyx.scipy.signal.lfilter. Idea: as SciPy's, with blocks of 1024 as a tree and their carries one after the other in one thread; it is
started with y[-1] = x[0] where SciPy is with q x[0]. Limits: mean; a NaN stays for good, so nan=decay is right for inputs without one;
elements are counted in int; one series."""

from ewm_peers import adjusted, decay, weight_sums
from peer import import_cupy
from scan_peers import INT_ELEMENTS, only

VARIANT = {
    "summary": "CuPy lfilter",
    "origin": "CuPy, cupyx.scipy.signal",
    "framework": "cupy",
    "incomplete": "min_periods",
    "needs_gpu": True,
    "clock": "cupy",
}


def supports(case, tunables):
    if case["params"]["n"] >= INT_ELEMENTS:
        return "CuPy's lfilter counts elements in int: fewer than 2^31"
    return only(case, agg=("mean",), segments=("none",))


def prepare(case, tunables, shapes):
    cupy = import_cupy()
    from cupyx.scipy import signal

    alpha, q = decay(case)
    x, adjust = shapes["x"], adjusted(case)
    return {
        "lfilter": signal.lfilter,
        "adjust": adjust,
        "b": cupy.array([1 if adjust else alpha], x.dtype),
        "a": cupy.array([1, -q], x.dtype),
        "weights": weight_sums(cupy, q, cupy.arange(x.size)).astype(x.dtype) if adjust else None,
    }


def run(state, inputs):
    x = inputs["x"]
    if x.size == 0:
        return x
    if state["adjust"]:
        sums = state["lfilter"](state["b"], state["a"], x)
        sums /= state["weights"]
        return sums
    return state["lfilter"](state["b"], state["a"], x, zi=x[:1])[0]
