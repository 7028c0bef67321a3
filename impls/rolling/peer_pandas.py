"""Series.rolling. Idea: pandas' own windows: running sums with compensation, a deque for min and max; one thread, always in float64.
Limits: a NaN in a window gives NaN, as the op wants; pandas also turns an infinity into NaN, which the op does not."""

from rolling_peers import only, window_of

VARIANT = {
    "summary": "pandas Series.rolling",
    "origin": "pandas; the baseline of both sources",
    "framework": "pandas",
    "incomplete": "window",
    "bound": "prefix",  # its running sums see the whole array: an error made early stays
}


def supports(case, tunables):
    return only(case, "mean", "sum", "var", "std", "min", "max")


def prepare(case, tunables, shapes):
    return {"window": window_of(case), "method": case["params"]["agg"]}


def run(state, inputs):
    return getattr(inputs["x"].rolling(state["window"]), state["method"])()
