"""The published pipeline itself: libcudf's contains, copy_if_else, split, slice_strings and concatenate, called through pylibcudf.
Traffic: every function reads whole columns and allocates new ones, all of it inside the call, the scalars too. Limits: bytes that are no UTF-8.
The result of a call is released when the next one returns, in its time; the published programs release it after their clock stops."""

import redact_peers
from cudf_peers import opened

VARIANT = {
    "summary": "cuDF: contains, copy_if_else, split, slice_strings, concatenate",
    "origin": "Wendt and Kimball 2022: the program itself, on cuDF 26.10",
    "framework": "pylibcudf",
    "facts": ["utf8"],
    "needs_gpu": True,
    "clock": "cudf",
    "bound": "api",
    "bitmap": True,  # under `api` the output always has one
    "tunables": [
        {
            "name": "memory",
            "summary": "rmm's resource. cuda: cudaMalloc and cudaFree; pool: half of the free memory, taken before the call",
            "kind": "choice",
            "choices": ["cuda", "pool"],
            "default": "cuda",
        }
    ],
}


def supports(case, tunables):
    if case["dtype"] == "i64":
        return "dtype=i64: pylibcudf reads columns of int32 offsets here"
    return redact_peers.supports(case, tunables)


def prepare(case, tunables, shapes):
    return opened(tunables)


def run(state, inputs):
    cudf, strings = state["cudf"], state["cudf"].strings
    scalar, size = cudf.Scalar.from_py, cudf.DataType(cudf.TypeId.INT32)
    allowed = strings.find.contains(inputs["visibilities"], scalar("public"))
    redacted = cudf.copying.copy_if_else(inputs["names"], scalar("X X"), allowed)
    first, last = strings.split.split.split(redacted, scalar(""), -1).columns()[:2]  # no delimiter: at white space
    initial = strings.slice.slice_strings(last, scalar(0, size), scalar(1, size))
    return strings.combine.concatenate(cudf.Table([initial, first]), scalar(" "))
