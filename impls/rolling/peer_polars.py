"""Polars' rolling windows. Idea: one pass in one thread; a running sum for mean and sum, a running mean and M2 for var and std, a deque for
min and max. Rounding: the running sum sees the whole array: hence the bound `prefix`. Limits: a NaN or an infinity stays in the sums.
Incomplete windows are null."""

from rolling_peers import only_complete, window_of

VARIANT = {
    "summary": "Polars Series.rolling_mean, .._sum, .._var, .._std, .._min, .._max",
    "origin": "Polars",
    "framework": "polars",
    "incomplete": "window",
    "bound": "prefix",
}


def supports(case, tunables):
    return only_complete(case, "mean", "sum", "var", "std", "min", "max")


def prepare(case, tunables, shapes):
    return {"window": window_of(case), "method": f"rolling_{case['params']['agg']}"}


def run(state, inputs):
    return getattr(inputs["x"], state["method"])(window_size=state["window"])
