"""cupyx.scipy.signal.lfilter with b = [1], a = [1, -gamma]. Idea: blocks of 1024 elements as a tree, their carries one after the other
in one thread per row, then added. Limits: one gamma; it counts elements in int; x is convolved with b = [1] first, one more pass.
To the right it is given, and gives, views that run backwards."""

from peer import import_cupy
from scan_peers import INT_ELEMENTS, filter_of, filtered, only

VARIANT = {
    "summary": "CuPy lfilter",
    "origin": "CuPy, cupyx.scipy.signal",
    "framework": "cupy",
    "needs_gpu": True,
    "clock": "cupy",
}


def supports(case, tunables):
    if case["params"]["batch"] * case["params"]["n"] >= INT_ELEMENTS:
        return "CuPy's lfilter counts elements in int: fewer than 2^31"
    return only(case, gamma_per=("all",), k=(0,), reset=("none",))


def prepare(case, tunables, shapes):
    cupy = import_cupy()
    from cupyx.scipy import signal

    return filter_of(cupy, signal.lfilter, case, shapes["x"])


def run(state, inputs):
    return filtered(state, inputs)
