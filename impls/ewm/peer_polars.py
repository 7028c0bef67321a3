"""Polars' exponentially weighted windows. Idea: a recurrence in one thread. Limits: nan=decay is right for inputs without a NaN, which is a
number to Polars; one series."""

from ewm_peers import adjusted, decay, min_periods
from scan_peers import only

VARIANT = {
    "summary": "Polars Series.ewm_mean, .ewm_var, .ewm_std",
    "origin": "Polars",
    "framework": "polars",
    "incomplete": "min_periods",
}
METHODS = {"mean": "ewm_mean", "var": "ewm_var", "std": "ewm_std"}


def supports(case, tunables):
    return only(case, agg=tuple(METHODS), segments=("none",))


def prepare(case, tunables, shapes):
    aggregate = case["params"]["agg"]
    return {
        "method": METHODS[aggregate],
        "keywords": {
            "alpha": decay(case)[0],
            "adjust": adjusted(case),
            "min_samples": min_periods(case),
            **({} if aggregate == "mean" else {"bias": False}),
        },
    }


def run(state, inputs):
    return getattr(inputs["x"], state["method"])(**state["keywords"])
