"""Series.ewm, the definition of this op. Idea: pandas' own recurrence, one thread, always in float64.
Limits: a NaN decays, it cannot be made to propagate; an infinity counts as NaN, which the op does not want; one series;
variances lose a bit with each half-life of a gap, and all after 53, for weights that are then nearly alike are subtracted. From pandas
3.0.0 on a mean with adjust=False and alpha = 1/2 is wrong after a gap: the new element gets 1 - q^g in place of alpha. Such cases are
skipped with the reason.
Incomplete outputs: in the timed call (NaN); fetch writes infinity over them where the case wants that."""

import math

from ewm_peers import adjusted, decay, given, incomplete_of, min_periods
from scan_peers import only

VARIANT = {
    "summary": "pandas Series.ewm",
    "origin": "pandas; what the source compares itself with",
    "framework": "pandas",
}


def supports(case, tunables):
    return only(case, nan=("decay",), segments=("none",))


def has_gap(x):
    import numpy

    observed = numpy.flatnonzero(~numpy.isnan(x))
    return observed.size > 0 and observed.size <= observed[-1] - observed[0]


def wrong_after_a_gap(pandas, case):
    """Asks this pandas itself: later versions may be right again."""
    alpha, q = decay(case)
    expected = (q * q + alpha * 4) / (q * q + alpha)
    return not math.isclose(
        pandas.Series([1, math.nan, 4]).ewm(**given(case), adjust=False).mean().iloc[2], expected, rel_tol=1e-9
    )


def prepare(case, tunables, inputs):
    import pandas
    from peer import Skip

    p = case["params"]
    if p["agg"] == "mean" and not adjusted(case) and has_gap(inputs["x"]) and wrong_after_a_gap(pandas, case):
        raise Skip(
            f"the mean of pandas {pandas.__version__} is wrong after a gap with adjust=False and alpha = 1/2 (pandas issue 66523)"
        )
    return {
        "pandas": pandas,
        "case": case,
        "keywords": {**given(case), "adjust": adjusted(case), "min_periods": min_periods(case)},
        "method": p["agg"],
        "corrected": {} if p["agg"] == "mean" else {"bias": False},
    }


def load(state, inputs):
    state["series"] = state["pandas"].Series(inputs["x"], copy=False)


def run(state):
    return getattr(state["series"].ewm(**state["keywords"]), state["method"])(**state["corrected"])


def fetch(state, outputs, out):
    out["y"][:] = outputs.to_numpy()
    if state["case"]["params"]["incomplete"] == "inf":
        observed = state["series"].notna().cumsum().to_numpy()
        out["y"][observed < min_periods(state["case"])] = incomplete_of(state["case"])
