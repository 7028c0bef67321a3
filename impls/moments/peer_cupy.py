"""CuPy on the GPU by the source's formulas: mean, std, mean(((x - m) / s)^p), min, max. Traffic: every operation is a pass of its own over
the matrix, four of them write one. Rounding: along the first axis float32 sums in float32, in blocks: hence the bound `naive_sum`.
Limits: three matrices beside x must fit on the GPU; no weights."""

from moments_peers import formulas, put, supports
from peer import import_cupy

VARIANT = {
    "summary": "CuPy: mean, std, mean(((x - m) / s)^p)",
    "origin": "CuPy",
    "framework": "cupy",
    "needs_gpu": True,
    "clock": "cupy",
    "bound": "naive_sum",
}


def prepare(case, tunables, inputs):
    return {"cupy": import_cupy(), "case": case}


def load(state, inputs):
    state["x"] = state["cupy"].asarray(inputs["x"])


def run(state):
    x = state["x"]
    deviation = x.std(0)
    return formulas(state["case"], x, x.mean(0), deviation, deviation * deviation, x.min(0), x.max(0))


def fetch(state, outputs, out):
    put(state["case"], {name: values.get() for name, values in outputs.items()}, out)
