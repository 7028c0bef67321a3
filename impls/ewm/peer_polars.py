"""Polars' exponentially weighted windows. Idea: a recurrence in one thread. Limits: nan=decay is right for inputs without a NaN, which is a
number to Polars; one series. Incomplete outputs: null in the timed call; fetch writes what the case wants."""

from ewm_peers import adjusted, decay, min_periods, put
from scan_peers import only

VARIANT = {
    "summary": "Polars Series.ewm_mean, .ewm_var, .ewm_std",
    "origin": "Polars",
    "framework": "polars",
}
METHODS = {"mean": "ewm_mean", "var": "ewm_var", "std": "ewm_std"}


def supports(case, tunables):
    return only(case, agg=tuple(METHODS), segments=("none",))


def prepare(case, tunables, inputs):
    import polars

    aggregate = case["params"]["agg"]
    return {
        "polars": polars,
        "case": case,
        "method": METHODS[aggregate],
        "keywords": {
            "alpha": decay(case)[0],
            "adjust": adjusted(case),
            "min_samples": min_periods(case),
            **({} if aggregate == "mean" else {"bias": False}),
        },
    }


def load(state, inputs):
    state["x"] = state["polars"].Series(inputs["x"])


def run(state):
    return getattr(state["x"], state["method"])(**state["keywords"])


def fetch(state, outputs, out):
    put(state["case"], outputs.to_numpy(), out["y"])
