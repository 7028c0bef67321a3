"""DataFrame.mean, var, skew, kurt, min, max: six calls. Rounding: in float32 in one float32 accumulator per column: hence the bound
`naive_sum`. Limits: skew and kurt come corrected for bias, which is taken back, and are 0 for a constant column, so degenerate=nan is
right for inputs without one; moments up to 4; 4 rows or more; no weights. The frame is made before the timed call."""

from moments_peers import degenerate, supports_plain

VARIANT = {
    "summary": "pandas DataFrame.mean, var, skew, kurt, min, max",
    "origin": "pandas",
    "framework": "pandas",
    "bound": "naive_sum",
}


def supports(case, tunables):
    return supports_plain(case, most=4, fewest_rows=4)


def prepare(case, tunables, shapes):
    return {"case": case}


def run(state, inputs):
    frame, whole, n = inputs["x"], {"skipna": False}, len(inputs["x"])
    skewness, kurtosis = frame.skew(**whole), frame.kurt(**whole)
    found = {
        "mean": frame.mean(**whole),
        "var": frame.var(ddof=0, **whole),
        "skewness": skewness * ((n - 2) / (n * (n - 1)) ** 0.5),
        "kurtosis": (kurtosis * ((n - 2) * (n - 3) / (n - 1)) - 6) / (n + 1) + 3,
        "min": frame.min(**whole),
        "max": frame.max(**whole),
    }
    return degenerate(state["case"], lambda at, zero, values: values.mask(at, zero), found)
