"""What the peers of ewm share: the decay from whichever of span, alpha, com and halflife was given."""

import math

DEFAULT_SPAN = 300


def given(case):
    """The one that was given, as pandas takes it: {"span": 300.0}."""
    p = case["params"]
    for name, missing in (("alpha", 0), ("com", -1), ("halflife", 0), ("span", 0)):
        if p.get(name, missing) != missing:
            return {name: float(p[name])}
    return {"span": float(DEFAULT_SPAN)}


def decay(case):
    """(alpha, q): the weight of a new element, and 1 - alpha without cancellation."""
    ((name, value),) = given(case).items()
    return {
        "alpha": lambda: (value, 1 - value),
        "com": lambda: (1 / (1 + value), value / (1 + value)),
        "halflife": lambda: (-math.expm1(-math.log(2) / value), 2 ** (-1 / value)),
        "span": lambda: (2 / (value + 1), (value - 1) / (value + 1)),
    }[name]()


def span_of(case):
    return 2 / decay(case)[0] - 1


def min_periods(case):
    return max(1, int(case["params"]["min_periods"]))


def incomplete_of(case):
    return math.inf if case["params"]["incomplete"] == "inf" else math.nan


def adjusted(case):
    return case["params"]["adjust"] == "true"


def weight_sums(math_of, q, places):
    """1 + q + .. + q^i for every i of `places`, in closed form; math_of: numpy, cupy or torch."""
    return math_of.expm1((places + 1) * math.log(q)) / (q - 1) if q else math_of.ones_like(places)


def filter_of(math_of, lfilter, case, x):
    """The state of a peer by lfilter: with adjust, the filter 1 / (1 - q z^-1) over the weights' sum; without, alpha over the same. math_of: numpy or
    cupy; x: the shape of the input."""
    alpha, q = decay(case)
    adjust = adjusted(case)
    return {
        "lfilter": lfilter,
        "q": q,
        "b": math_of.array([1 if adjust else alpha], x.dtype),
        "a": math_of.array([1, -q], x.dtype),
        "weights": weight_sums(math_of, q, math_of.arange(x.size)).astype(x.dtype) if adjust else None,
    }


def filtered(state, x, before):
    """before: what the filter without adjust begins with, so that y[0] = x[0]."""
    if x.size == 0:
        return x
    if state["weights"] is None:
        return state["lfilter"](state["b"], state["a"], x, zi=before)[0]
    sums = state["lfilter"](state["b"], state["a"], x)
    sums /= state["weights"]
    return sums
