"""The published program itself, EgyipTomi425/statistics, compiled from the user's checkout. Idea: cuda_two_pass is a reimplementation of it.
Limits: float32; what it gets wrong is wrong here: columns beyond the threads of a block (384 on an H100 or H200) are not written."""

import originals
from moments_peers import degenerate, supports_plain
from peer import import_cupy

VARIANT = {
    "summary": "the published CUDA program, from RUNGS_ORIGINALS/statistics",
    "origin": "EgyipTomi425/statistics: the program itself",
    "framework": "cupy",
    "needs_gpu": True,
    "clock": "cupy",
    "bound": "updating",
}
FILE = "statistics_cuda.cu"
OUTPUTS = ("mean", "var", "skewness", "kurtosis", "min", "max")
ENTRY = """#include "statistics_cuda.h"
extern "C" void rungs_column_stats(const float *x, float *const out[6], int rows, int cols) {
    statistics::cuda::column_stats(x, out[0], out[1], out[2], out[3], out[4], out[5], rows, cols, 4, nullptr);
}
"""


def supports(case, tunables):
    p = case["params"]
    if case["dtype"] != "f32" or p["order"] != 4:
        return "the program has float32 and order 4 only"
    if p["rows"] * p["cols"] >= 1 << 31:
        return "the program counts elements in int"
    return supports_plain(case, most=4) or originals.source_of("statistics", FILE)[1]


def prepare(case, tunables, shapes):
    import ctypes

    cupy = import_cupy()
    source, _ = originals.source_of("statistics", FILE)
    options = (
        "--pre-include",
        "cfloat",
        "--pre-include",
        "string",
        "--pre-include",
        "stdexcept",
        "-lcublas",
        "-lcusolver",
    )
    call = originals.compiled(source, ENTRY, *options).rungs_column_stats
    call.argtypes, call.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int], None
    out = {
        name: cupy.full(case["params"]["cols"], float("nan"), "float32") for name in OUTPUTS
    }  # what is not written stays
    return {
        "where": cupy.where,
        "case": case,
        "call": call,
        "out": out,
        "places": (ctypes.c_void_p * 6)(*(array.data.ptr for array in out.values())),
    }


def run(state, inputs):
    rows, cols = inputs["x"].shape
    state["call"](inputs["x"].data.ptr, state["places"], rows, cols)
    return degenerate(state["case"], state["where"], dict(state["out"]))
