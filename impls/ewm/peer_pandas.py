"""Series.ewm, the definition of this op. Idea: pandas' own recurrence, one thread, always in float64.
Limits: a NaN decays, it cannot be made to propagate; an infinity counts as NaN, which the op does not want; one series;
variances lose a bit with each half-life of a gap, and all after 53, for weights that are then nearly alike are subtracted.
Incomplete outputs: in the timed call (NaN); fetch writes infinity over them where the case wants that."""
from ewm_peers import adjusted, given, incomplete_of, min_periods
from scan_peers import only

VARIANT = {
    "summary": "pandas Series.ewm",
    "origin": "pandas; what the source compares itself with",
    "framework": "pandas",
}


def supports(case, tunables):
    del tunables
    return only(case, nan=("decay",), segments=("none",))


def prepare(case, tunables, inputs):
    del tunables, inputs
    import pandas

    p = case["params"]
    return {"pandas": pandas, "case": case, "keywords": {**given(case), "adjust": adjusted(case), "min_periods": min_periods(case)},
            "method": p["agg"], "corrected": {} if p["agg"] == "mean" else {"bias": False}}


def load(state, inputs):
    state["series"] = state["pandas"].Series(inputs["x"], copy=False)


def run(state):
    return getattr(state["series"].ewm(**state["keywords"]), state["method"])(**state["corrected"])


def fetch(state, outputs, out):
    out["y"][:] = outputs.to_numpy()
    if state["case"]["params"]["incomplete"] == "inf":
        observed = state["series"].notna().cumsum().to_numpy()
        out["y"][observed < min_periods(state["case"])] = incomplete_of(state["case"])
