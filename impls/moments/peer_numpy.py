"""NumPy by the source's formulas: mean, std, mean(((x - m) / s)^p). Traffic: about ten passes, four of them writing a matrix. Rounding:
along the first axis NumPy adds row to row, in float32 in one float32 accumulator per column: hence the bound `naive_sum`.
Limits: one thread; no weights."""

from moments_peers import formulas, supports

VARIANT = {
    "summary": "NumPy: mean, std, mean(((x - m) / s)^p)",
    "origin": "NumPy; the source's comparison",
    "framework": "numpy",
    "bound": "naive_sum",
}


def prepare(case, tunables, shapes):
    import numpy

    numpy.seterr(all="ignore")  # a constant column divides by zero, and should
    return {"where": numpy.where, "case": case}


def run(state, inputs):
    x = inputs["x"]
    deviation = x.std(0)
    return formulas(state["case"], state["where"], x, x.mean(0), deviation, deviation * deviation, x.min(0), x.max(0))
