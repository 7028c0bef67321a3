"""Series.ewm, the definition of this op. Idea: pandas' own recurrence, one thread, always in float64.
Limits: a NaN decays, it cannot be made to propagate; an infinity counts as NaN, which the op does not want; one series;
variances lose a bit with each half-life of a gap, and all after 53, for weights that are then nearly alike are subtracted. From pandas
3.0.0 on a mean with adjust=False and alpha = 1/2 is wrong after a gap: the new element gets 1 - q^g in place of alpha. Such cases are
skipped with the reason."""

import math

from ewm_peers import adjusted, decay, given, min_periods
from scan_peers import only

VARIANT = {
    "summary": "pandas Series.ewm",
    "origin": "pandas; what the source compares itself with",
    "framework": "pandas",
    "incomplete": "min_periods",
    "facts": ["gaps"],
}


def supports(case, tunables):
    known = only(case, nan=("decay",), segments=("none",))
    if known or case["params"]["agg"] != "mean" or adjusted(case) or not case["facts"]["gaps"]:
        return known
    return wrong_after_a_gap(case)


def wrong_after_a_gap(case):
    """Asks this pandas itself: later versions may be right again."""
    import pandas

    alpha, q = decay(case)
    given_two = pandas.Series([1, math.nan, 4]).ewm(**given(case), adjust=False).mean().iloc[2]
    if math.isclose(given_two, (q * q + alpha * 4) / (q * q + alpha), rel_tol=1e-9):
        return None
    version = pandas.__version__
    return f"the mean of pandas {version} is wrong after a gap with adjust=False and alpha = 1/2 (pandas issue 66523)"


def prepare(case, tunables, shapes):
    aggregate = case["params"]["agg"]
    return {
        "keywords": {**given(case), "adjust": adjusted(case), "min_periods": min_periods(case)},
        "method": aggregate,
        "corrected": {} if aggregate == "mean" else {"bias": False},
    }


def run(state, inputs):
    return getattr(inputs["x"].ewm(**state["keywords"]), state["method"])(**state["corrected"])
