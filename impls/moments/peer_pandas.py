"""DataFrame.mean, var, skew, kurt, min, max: six calls. Rounding: in float32 in one float32 accumulator per column: hence the bound
`naive_sum`. Limits: skew and kurt come corrected for bias, fetch takes that back, and are 0 for a constant column, so degenerate=nan is
right for inputs without one; moments up to 4; 4 rows or more; no weights. The frame is made before the timed call."""

from moments_peers import put, supports_plain

VARIANT = {
    "summary": "pandas DataFrame.mean, var, skew, kurt, min, max",
    "origin": "pandas",
    "framework": "pandas",
    "bound": "naive_sum",
}


def supports(case, tunables):
    return supports_plain(case, most=4, fewest_rows=4)


def prepare(case, tunables, inputs):
    import pandas

    return {"pandas": pandas, "case": case}


def load(state, inputs):
    state["frame"] = state["pandas"].DataFrame(inputs["x"])


def run(state):
    frame, whole = state["frame"], {"skipna": False}
    return {
        "mean": frame.mean(**whole),
        "var": frame.var(ddof=0, **whole),
        "skewness": frame.skew(**whole),
        "kurtosis": frame.kurt(**whole),
        "min": frame.min(**whole),
        "max": frame.max(**whole),
    }


def fetch(state, outputs, out):
    found, n = {name: values.to_numpy() for name, values in outputs.items()}, len(state["frame"])
    found["skewness"] = found["skewness"] * ((n - 2) / (n * (n - 1)) ** 0.5)
    found["kurtosis"] = (found["kurtosis"] * ((n - 2) * (n - 3) / (n - 1)) - 6) / (n + 1) + 3
    put(state["case"], found, out)
