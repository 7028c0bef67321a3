"""scipy.stats.describe: all six statistics in one call. Rounding: NumPy's along the first axis, in float32 in one float32 accumulator per
column: hence the bound `naive_sum`. Limits: moments up to 4; one thread; its kurtosis is 0 for a normal distribution, so 3 is
added; no weights."""

from moments_peers import degenerate, supports_plain

VARIANT = {
    "summary": "scipy.stats.describe",
    "origin": "SciPy; the source's comparison",
    "framework": "scipy",
    "bound": "naive_sum",
}


def supports(case, tunables):
    return supports_plain(case, most=4)


def prepare(case, tunables, shapes):
    import warnings

    import numpy
    from scipy import stats

    numpy.seterr(all="ignore")
    warnings.simplefilter("ignore")  # it warns of columns that are nearly constant
    return {"describe": stats.describe, "where": numpy.where, "case": case}


def run(state, inputs):
    told = state["describe"](inputs["x"], axis=0, ddof=0)
    found = {
        "mean": told.mean,
        "var": told.variance,
        "skewness": told.skewness,
        "kurtosis": told.kurtosis + 3,
        "min": told.minmax[0],
        "max": told.minmax[1],
    }
    return degenerate(state["case"], state["where"], found)
