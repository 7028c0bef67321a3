"""cuDF's cumulative sum, called through pylibcudf. Idea: CUB's scan. Traffic: every element once. Rounding: the sums of tiles are added
to one another. Limits: gamma = 1; one row; from the left; 2^31 elements."""

from cudf_peers import opened, supports_size
from scan_peers import only

VARIANT = {
    "summary": "cuDF scan with sum",
    "origin": "cuDF 26.10, cumulative sum",
    "framework": "pylibcudf",
    "needs_gpu": True,
    "clock": "cudf",
}


def supports(case, tunables):
    known = only(case, direction=("left",), gamma=(1,), gamma_per=("all",), batch=(1,), k=(0,), reset=("none",))
    return known or supports_size(case["params"]["n"])


def prepare(case, tunables, shapes):
    state = opened(tunables)
    return {**state, "sum": state["cudf"].aggregation.sum()}


def run(state, inputs):
    reduce = state["cudf"].reduce
    return reduce.scan(inputs["x"], state["sum"], reduce.ScanType.INCLUSIVE)
