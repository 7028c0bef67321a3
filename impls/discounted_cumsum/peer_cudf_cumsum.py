"""cuDF's cumulative sum, called through pylibcudf. Idea: CUB's scan. Traffic: every element once. Rounding: the sums of tiles are added
to one another. Limits: gamma = 1; one row; from the left; 2^31 elements."""

from cudf_peers import column_of, opened, supports_size, values_of
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


def prepare(case, tunables, inputs):
    state = opened(tunables)
    return {**state, "sum": state["cudf"].aggregation.sum()}


def load(state, inputs):
    state["x"] = column_of(state, inputs["x"].reshape(-1))


def run(state):
    reduce = state["cudf"].reduce
    return reduce.scan(state["x"], state["sum"], reduce.ScanType.INCLUSIVE)


def fetch(state, outputs, out):
    out["y"].reshape(-1)[:] = values_of(outputs)
