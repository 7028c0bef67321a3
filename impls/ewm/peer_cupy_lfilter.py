"""cupyx.scipy.signal.lfilter. Idea: as SciPy's, with blocks of 1024 as a tree and their carries one after the other in one thread; it is
started with y[-1] = x[0] where SciPy is with q x[0]. Limits: mean; a NaN stays for good, so nan=decay is right for inputs without one;
elements are counted in int; one series."""

from ewm_peers import filter_of, filtered
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

    return filter_of(cupy, signal.lfilter, case, shapes["x"])


def run(state, inputs):
    return filtered(state, inputs["x"], inputs["x"][:1])
