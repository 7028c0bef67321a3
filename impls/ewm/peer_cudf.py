"""cuDF's ewma, called through pylibcudf. Idea: a scan with pairs of factor and sum; with adjust two of them, and a division.
Limits: the mean; one series; 2^31 elements; a NaN is a number to cuDF, so nan=decay is right for inputs without one."""

from cudf_peers import opened, supports_size
from ewm_peers import adjusted, decay
from scan_peers import only

VARIANT = {
    "summary": "cuDF scan with ewma",
    "origin": "cuDF 26.10, what became of the source's kernel",
    "framework": "pylibcudf",
    "incomplete": "min_periods",
    "needs_gpu": True,
    "clock": "cudf",
}


def supports(case, tunables):
    return only(case, agg=("mean",), segments=("none",)) or supports_size(case["params"]["n"])


def prepare(case, tunables, shapes):
    state = opened(tunables)
    aggregation, alpha = state["cudf"].aggregation, decay(case)[0]
    history = aggregation.EWMHistory.INFINITE if adjusted(case) else aggregation.EWMHistory.FINITE
    return {**state, "ewma": aggregation.ewma(1 / alpha - 1, history)}


def run(state, inputs):
    reduce = state["cudf"].reduce
    return reduce.scan(inputs["x"], state["ewma"], reduce.ScanType.INCLUSIVE)
