"""NumPy by the source's formulas: mean, std, mean(((x - m) / s)^p). Traffic: about ten passes, four of them writing a matrix. Rounding:
along the first axis NumPy adds row to row, in float32 in one float32 accumulator per column: hence the bound `naive_sum`.
Limits: one thread; no weights."""

from moments_peers import formulas, put, supports

VARIANT = {
    "summary": "NumPy: mean, std, mean(((x - m) / s)^p)",
    "origin": "NumPy; the source's comparison",
    "framework": "numpy",
    "bound": "naive_sum",
}


def prepare(case, tunables, inputs):
    import numpy

    numpy.seterr(all="ignore")  # a constant column divides by zero, and should
    return {"case": case}


def load(state, inputs):
    state["x"] = inputs["x"]


def run(state):
    x = state["x"]
    deviation = x.std(0)
    return formulas(state["case"], x, x.mean(0), deviation, deviation * deviation, x.min(0), x.max(0))


def fetch(state, outputs, out):
    put(state["case"], outputs, out)
