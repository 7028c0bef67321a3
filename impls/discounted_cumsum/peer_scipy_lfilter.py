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


def prepare(case, tunables, inputs):
    import numpy
    from scipy import signal

    return {"numpy": numpy, "lfilter": signal.lfilter, "case": case}


def load(state, inputs):
    state["x"] = reading_order(state["case"], inputs["x"])
    state["b"], state["a"] = filter_coefficients(state["numpy"], inputs["gamma"][0], inputs["x"].dtype)


def run(state):
    return state["lfilter"](state["b"], state["a"], state["x"]) if state["x"].size else state["x"]


def fetch(state, outputs, out):
    out["y"][:] = reading_order(state["case"], outputs)
