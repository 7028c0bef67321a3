"""What the peers of moments share: which modes they know, the source's formulas, and the outputs by name."""

STANDARDISED = {3: "skewness", 4: "kurtosis", 5: "m5", 6: "m6"}


def supports_plain(case, most=6, fewest_rows=1):
    """supports() for a peer without weights, with moments up to `most`."""
    p = case["params"]
    if p.get("weights", "none") != "none":
        return f"weights={p['weights']}: this peer knows none"
    if p["order"] > most:
        return f"order={p['order']}: this peer knows moments up to {most}"
    if p["rows"] < fewest_rows:
        return f"rows={p['rows']}: this peer needs {fewest_rows}"
    return None


def supports(case, tunables):
    return supports_plain(case)


def widened(case, statistics):
    """`statistics`, but of f16 and bf16 from a copy in float32, rounded at the end. For arrays that have astype()."""
    if case["dtype"] not in ("f16", "bf16"):
        return statistics
    return lambda x: {name: value.astype(x.dtype) for name, value in statistics(x.astype("float32")).items()}


def degenerate(case, where, found):
    """`found` with zeros for the standardised moments of constant columns, if the case wants them. where: the library's."""
    if case["params"]["degenerate"] == "zero":
        for name in found.keys() & STANDARDISED.values():
            found[name] = where(found["var"] == 0, 0, found[name])
    return found


def formulas(case, where, x, mean, deviation, variance, least, most):
    """The source's: mean(((x - m) / s)^p). The arrays may be of any library in which - / ** and .mean(0) mean what they mean in NumPy."""
    z = (x - mean) / deviation
    found = {"mean": mean, "var": variance, "min": least, "max": most}
    for p in range(3, case["params"]["order"] + 1):
        found[STANDARDISED[p]] = (z**p).mean(0)
    return degenerate(case, where, found)
