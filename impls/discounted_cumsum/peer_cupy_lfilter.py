"""cupyx.scipy.signal.lfilter with b = [1], a = [1, -gamma]. Idea: blocks of 1024 elements as a tree, their carries one after the other
in one thread per row, then added. Limits: one gamma; it counts elements in int; x is convolved with b = [1] first, one more pass.
To the right it is given, and gives, views that run backwards."""

from peer import import_cupy
from scan_peers import INT_ELEMENTS, filter_coefficients, only, reading_order

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

    b, a = filter_coefficients(cupy, float(case["params"]["gamma"]), shapes["x"].dtype)
    return {"lfilter": signal.lfilter, "case": case, "b": b, "a": a}


def run(state, inputs):
    x = reading_order(state["case"], inputs["x"])
    return reading_order(state["case"], state["lfilter"](state["b"], state["a"], x)) if x.size else x
