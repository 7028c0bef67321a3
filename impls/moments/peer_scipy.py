"""scipy.stats.describe: all six statistics in one call. Rounding: NumPy's along the first axis, in float32 in one float32 accumulator per
column: hence the bound `naive_sum`. Limits: moments up to 4; one thread; its kurtosis is 0 for a normal distribution, fetch adds
the 3; no weights."""

from moments_peers import put, supports_plain

VARIANT = {
    "summary": "scipy.stats.describe",
    "origin": "SciPy; the source's comparison",
    "framework": "scipy",
    "bound": "naive_sum",
}


def supports(case, tunables):
    return supports_plain(case, most=4)


def prepare(case, tunables, inputs):
    import warnings

    import numpy
    from scipy import stats

    numpy.seterr(all="ignore")
    warnings.simplefilter("ignore")  # it warns of columns that are nearly constant
    return {"describe": stats.describe, "case": case}


def load(state, inputs):
    state["x"] = inputs["x"]


def run(state):
    return state["describe"](state["x"], axis=0, ddof=0)


def fetch(state, outputs, out):
    put(
        state["case"],
        {
            "mean": outputs.mean,
            "var": outputs.variance,
            "skewness": outputs.skewness,
            "kurtosis": outputs.kurtosis + 3,
            "min": outputs.minmax[0],
            "max": outputs.minmax[1],
        },
        out,
    )
