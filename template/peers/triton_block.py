"""Triton: a program for each block of elements. Traffic: reads x and y once, writes z once."""

import triton
import triton.language as tl

VARIANT = {
    "summary": "a program for each block of elements",
    "origin": "the definition",
    "tunables": [
        {"name": "block", "summary": "elements of a program", "kind": "int", "default": 1024, "min": 128, "max": 8192}
    ],
}


@triton.jit
def axpy_kernel(x, y, z, n, A: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(z + at, A * tl.load(x + at, inside) + tl.load(y + at, inside), inside)


def supports(case, tunables):
    block = int(tunables["block"])
    return None if block & (block - 1) == 0 else "block must be a power of two"


def prepare(case, tunables, shapes):  # not timed; sees no data. The first call, which compiles, is not timed either
    n, block = shapes["x"].size, int(tunables["block"])
    return {"n": n, "grid": (triton.cdiv(n, block),), "A": float(case["params"]["a"]), "BLOCK": block}


def run(state, inputs, outputs):  # timed: tensors of the harness, poisoned and between guards
    if state["n"]:
        axpy_kernel[state["grid"]](
            inputs["x"], inputs["y"], outputs["z"], state["n"], A=state["A"], BLOCK=state["BLOCK"]
        )
