"""cuDF's rolling windows, called through pylibcudf. Idea: one output per thread, every thread reads its whole window from device memory;
var and std join Welford's update over it. Limits: 2^31 elements. Incomplete windows: null in the timed call, in fetch what the case wants."""

from cudf_peers import column_of, opened, supports_size, values_of
from rolling_peers import only_complete, put, window_of

VARIANT = {
    "summary": "cuDF rolling_window",
    "origin": "cuDF 26.10, what became of the sources' kernels",
    "framework": "pylibcudf",
    "needs_gpu": True,
    "clock": "cudf",
}
AGGREGATES = {"mean": "mean", "sum": "sum", "min": "min", "max": "max", "var": "variance", "std": "std"}


def supports(case, tunables):
    return only_complete(case, *AGGREGATES) or supports_size(case["params"]["n"])


def prepare(case, tunables, inputs):
    state = opened(tunables)
    return {**state, "case": case, "aggregate": getattr(state["cudf"].aggregation, AGGREGATES[case["params"]["agg"]])()}


def load(state, inputs):
    state["x"] = column_of(state, inputs["x"])


def run(state):
    w = window_of(state["case"])
    return state["cudf"].rolling.rolling_window(state["x"], w, 0, w, state["aggregate"])


def fetch(state, outputs, out):
    put(state["case"], values_of(outputs)[window_of(state["case"]) - 1 :], out["y"])
