"""scipy.signal.lfilter with b = [1], a = [1, -gamma]. Idea: the sequential recurrence in C, one row after the other, in the case's own
precision. Traffic: to the right it reads and writes its rows backwards, through views. Limits: one gamma; after an infinity it gives
NaN, for it pads b with a zero and multiplies."""

from scan_peers import filter_coefficients, only, reading_order

VARIANT = {
    "summary": "scipy.signal.lfilter",
    "origin": "SciPy; what many reinforcement-learning codes use",
    "framework": "scipy",
}


def supports(case, tunables):
    return only(case, gamma_per=("all",), k=(0,), reset=("none",))


def prepare(case, tunables, shapes):
    import numpy
    from scipy import signal

    b, a = filter_coefficients(numpy, float(case["params"]["gamma"]), shapes["x"].dtype)
    return {"lfilter": signal.lfilter, "case": case, "b": b, "a": a}


def run(state, inputs):
    x = reading_order(state["case"], inputs["x"])
    return reading_order(state["case"], state["lfilter"](state["b"], state["a"], x)) if x.size else x
