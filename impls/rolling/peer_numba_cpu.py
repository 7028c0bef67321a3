"""Numba on all cores. Idea: cut the array in chunks of w; the window that ends at place j of a chunk is the suffix of the chunk before it
from j + 1 and the prefix of its own up to j. So the cost per output does not depend on w, nothing is subtracted and nothing drifts; var
joins Welford's moments of the two parts. Batches of chunks run in parallel. Rounding: everything in float64.
Limits: with few chunks (w near n) few cores have work. Incomplete windows: in the timed call.
Origin: van Herk / Gil and Werman; Chan, Golub and LeVeque for the join of moments."""

import math

from peer import import_numba
from rolling_peers import incomplete_of, only, window_of

VARIANT = {
    "summary": "Numba on all cores: prefix and suffix of chunks",
    "origin": "Numba, njit(parallel=True); van Herk / Gil-Werman",
    "framework": "numba",
}
BATCH = 16384  # elements: enough work for one task


def supports(case, tunables):
    return only(case, "mean", "sum", "var", "std", "min", "max")


def make_join(numba, aggregate):
    """The associative operator, NaN wherever one of the two is NaN."""
    if aggregate in ("mean", "sum"):
        return numba.njit(lambda a, b: a + b)
    if aggregate == "min":
        return numba.njit(lambda a, b: b if b != b or b < a else a)
    return numba.njit(lambda a, b: b if b != b or b > a else a)


def make_windows(numba, numpy, aggregate):
    join = make_join(numba, aggregate)
    divide = aggregate == "mean"

    @numba.njit(parallel=True, error_model="numpy")
    def windows(x, y, w, incomplete):
        n, width = x.size, w * max(1, BATCH // w)
        for batch in numba.prange((n + width - 1) // width):
            tail = numpy.empty(w)
            for start in range(batch * width, min(n, (batch + 1) * width), w):
                if start:
                    suffix = numpy.float64(x[start - 1])
                    tail[w - 1] = suffix
                    for k in range(w - 2, 0, -1):
                        suffix = join(suffix, numpy.float64(x[start - w + k]))
                        tail[k] = suffix
                prefix = numpy.float64(x[start])
                for j in range(min(w, n - start)):
                    if j:
                        prefix = join(prefix, numpy.float64(x[start + j]))
                    if j == w - 1:
                        value = prefix
                    elif start:
                        value = join(tail[j + 1], prefix)
                    else:
                        y[j] = incomplete
                        continue
                    y[start + j] = value / w if divide else value

    return windows


def make_moments(numba, numpy, aggregate):
    root = aggregate == "std"

    @numba.njit(parallel=True, error_model="numpy")
    def moments(x, y, w, incomplete):
        n, width = x.size, w * max(1, BATCH // w)
        for batch in numba.prange((n + width - 1) // width):
            means, squares = numpy.empty(w), numpy.empty(w)  # of the suffixes; squares: sum of squared deviations
            for start in range(batch * width, min(n, (batch + 1) * width), w):
                mean, square = 0.0, 0.0
                if start:
                    for k in range(w - 1, 0, -1):
                        d = x[start - w + k] - mean
                        mean += d / (w - k)
                        square += d * (x[start - w + k] - mean)
                        means[k], squares[k] = mean, square
                mean, square = 0.0, 0.0
                for j in range(min(w, n - start)):
                    d = x[start + j] - mean
                    mean += d / (j + 1)
                    square += d * (x[start + j] - mean)
                    if j == w - 1:
                        total = square
                    elif start:
                        apart = means[j + 1] - mean
                        total = square + squares[j + 1] + apart * apart * ((w - 1 - j) * (j + 1) / w)
                    else:
                        y[j] = incomplete
                        continue
                    y[start + j] = math.sqrt(total / (w - 1)) if root else total / (w - 1)

    return moments


def prepare(case, tunables, shapes):
    numba = import_numba()
    import numpy

    aggregate = case["params"]["agg"]
    make = make_moments if aggregate in ("var", "std") else make_windows
    return {
        "compute": make(numba, numpy, aggregate),
        "window": window_of(case),
        "incomplete": incomplete_of(case),
        "y": numpy.empty(shapes["x"].size, shapes["x"].dtype),
    }


def run(state, inputs):
    state["compute"](inputs["x"], state["y"], state["window"], state["incomplete"])
    return state["y"]
