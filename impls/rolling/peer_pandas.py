"""Series.rolling. Idea: pandas' own windows: running sums with compensation, a deque for min and max; one thread, always in float64.
Limits: a NaN in a window gives NaN, as the op wants; pandas also turns an infinity into NaN, which the op does not.
Incomplete windows: in the timed call (NaN); fetch writes infinity over them where the case wants that."""

from rolling_peers import incomplete_of, only, window_of

VARIANT = {
    "summary": "pandas Series.rolling",
    "origin": "pandas; the baseline of both sources",
    "framework": "pandas",
    "bound": "prefix",  # its running sums see the whole array: an error made early stays
}


def supports(case, tunables):
    return only(case, "mean", "sum", "var", "std", "min", "max")


def prepare(case, tunables, inputs):
    import pandas

    return {"pandas": pandas, "case": case, "method": case["params"]["agg"]}


def load(state, inputs):
    state["series"] = state["pandas"].Series(inputs["x"], copy=False)


def run(state):
    return getattr(state["series"].rolling(window_of(state["case"])), state["method"])()


def fetch(state, outputs, out):
    out["y"][:] = outputs.to_numpy()
    out["y"][: window_of(state["case"]) - 1] = incomplete_of(state["case"])
