"""Bottleneck's moving windows. Idea: one thread; a running sum for mean and sum, Welford's update with the element that leaves for var and
std, a deque for min and max. Rounding: the running sum sees the whole array: hence the bound `prefix`. Limits: an infinity stays in the
sum for good."""

from rolling_peers import only_complete, window_of

VARIANT = {
    "summary": "Bottleneck move_mean, move_sum, move_var, move_std, move_min, move_max",
    "origin": "Bottleneck",
    "framework": "bottleneck",
    "incomplete": "window",
    "bound": "prefix",
}


def supports(case, tunables):
    if window_of(case) == 1 and case["params"]["agg"] in ("var", "std"):
        return "window=1: Bottleneck gives an infinite variance, where there is none"
    return only_complete(case, "mean", "sum", "var", "std", "min", "max")


def prepare(case, tunables, shapes):
    import bottleneck

    aggregate = case["params"]["agg"]
    return {
        "window": window_of(case),
        "move": getattr(bottleneck, f"move_{aggregate}"),
        "corrected": {"ddof": 1} if aggregate in ("var", "std") else {},
    }


def run(state, inputs):
    return state["move"](inputs["x"], state["window"], **state["corrected"])
