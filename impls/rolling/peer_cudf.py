"""cuDF's rolling windows, called through pylibcudf. Idea: one output per thread, every thread reads its whole window from device memory;
var and std join Welford's update over it. Limits: 2^31 elements. Incomplete windows are null."""

from cudf_peers import opened, supports_size
from rolling_peers import only_complete, window_of

VARIANT = {
    "summary": "cuDF rolling_window",
    "origin": "cuDF 26.10, what became of the sources' kernels",
    "framework": "pylibcudf",
    "incomplete": "window",
    "needs_gpu": True,
    "clock": "cudf",
}
AGGREGATES = {"mean": "mean", "sum": "sum", "min": "min", "max": "max", "var": "variance", "std": "std"}


def supports(case, tunables):
    return only_complete(case, *AGGREGATES) or supports_size(case["params"]["n"])


def prepare(case, tunables, shapes):
    state = opened(tunables)
    aggregate = getattr(state["cudf"].aggregation, AGGREGATES[case["params"]["agg"]])()
    return {**state, "window": window_of(case), "aggregate": aggregate}


def run(state, inputs):
    w = state["window"]
    return state["cudf"].rolling.rolling_window(inputs["x"], w, 0, w, state["aggregate"])
