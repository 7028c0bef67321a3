"""Polars' rolling windows. Idea: one pass in one thread; a running sum for mean and sum, a running mean and M2 for var and std, a deque for
min and max. Rounding: the running sum sees the whole array: hence the bound `prefix`. Limits: a NaN or an infinity stays in the sums.
Incomplete windows: null in the timed call; fetch writes what the case wants."""

from rolling_peers import incomplete_of, only_complete, window_of

VARIANT = {
    "summary": "Polars Series.rolling_mean, .._sum, .._var, .._std, .._min, .._max",
    "origin": "Polars",
    "framework": "polars",
    "bound": "prefix",
}


def supports(case, tunables):
    return only_complete(case, "mean", "sum", "var", "std", "min", "max")


def prepare(case, tunables, inputs):
    import polars

    return {"polars": polars, "case": case, "method": f"rolling_{case['params']['agg']}"}


def load(state, inputs):
    state["x"] = state["polars"].Series(inputs["x"])


def run(state):
    return getattr(state["x"], state["method"])(window_size=window_of(state["case"]))


def fetch(state, outputs, out):
    out["y"][:] = outputs.to_numpy()
    out["y"][: window_of(state["case"]) - 1] = incomplete_of(state["case"])
