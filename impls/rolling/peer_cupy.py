"""cupyx.scipy.ndimage's one-dimensional filters. Idea: one output per thread, every thread reads its whole window. The origin moves the
centred window so that it ends at its output. Limits: mean, min, max."""

from peer import import_cupy
from rolling_peers import only_complete, window_of

VARIANT = {
    "summary": "CuPy uniform_filter1d, minimum_filter1d, maximum_filter1d",
    "origin": "CuPy, cupyx.scipy.ndimage",
    "framework": "cupy",
    "incomplete": "window",
    "bound": "weighted",
    "needs_gpu": True,
    "clock": "cupy",
}
FILTERS = {"mean": "uniform_filter1d", "min": "minimum_filter1d", "max": "maximum_filter1d"}


def supports(case, tunables):
    return only_complete(case, *FILTERS)


def trailing_origin(w):
    """A filter of size w and origin o covers i - (w // 2 + o) and what follows it: this o makes that i - w + 1."""
    return w - 1 - w // 2


def prepare(case, tunables, shapes):
    import_cupy()
    from cupyx.scipy import ndimage

    return {"window": window_of(case), "filter": getattr(ndimage, FILTERS[case["params"]["agg"]])}


def run(state, inputs):
    w = state["window"]
    return state["filter"](inputs["x"], w, mode="nearest", origin=trailing_origin(w))
