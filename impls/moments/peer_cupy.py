"""CuPy on the GPU by the source's formulas: mean, std, mean(((x - m) / s)^p), min, max. Traffic: every operation is a pass of its own over
the matrix, four of them write one. Rounding: along the first axis float32 sums in float32, in blocks: hence the bound `naive_sum`.
Limits: three matrices beside x must fit on the GPU; no weights."""

from moments_peers import formulas, supports, widened
from peer import import_cupy

VARIANT = {
    "summary": "CuPy: mean, std, mean(((x - m) / s)^p)",
    "origin": "CuPy",
    "framework": "cupy",
    "needs_gpu": True,
    "clock": "cupy",
    "bound": "naive_sum",
    "dtypes": ["f16"],
}


def prepare(case, tunables, shapes):
    where = import_cupy().where

    def statistics(x):
        deviation = x.std(0)
        return formulas(case, where, x, x.mean(0), deviation, deviation * deviation, x.min(0), x.max(0))

    return widened(case, statistics)


def run(statistics, inputs):
    return statistics(inputs["x"])
