"""Numba, the truncated tile of the source. Idea: as published, written anew. 64 threads stage the inputs of 64 * 48 outputs, and the
10 span - 1 inputs before them, in shared memory as float64. A device function that sees one thread's slice of the output makes 48
consecutive outputs: the first complete one from its whole window, newest element first; each further one drops the element that
leaves (weight lam / q), decays the sum, adds the new element and divides by the sum of the weights, which is accumulated beside it.
Window, span, tile and length are run-time arguments; the loop that stages has a barrier in each turn. cuda_truncated_tile is the same
in CUDA C.
Traffic: 1 + 10 span / 3072 reads and one write per output, 2 + 10 span / 48 shared reads. Rounding: float64; older elements than 10
span are left out: hence the bound `truncated`.
Limits: mean, adjust=true, one series; the staged elements in 48 KiB (span 307); span = 1 divides 0 by 0; a NaN stays to the end of its
tile, so nan=decay is right for inputs without one. Incomplete outputs: in the kernel. The output array is made before the timed call
(the source's apply() makes one; it prints no times).
Origin: the source's Ewm class; ours are alpha, com and halflife, min_periods from 1, and NaN as well as infinity before it."""

import math

from ewm_peers import decay, incomplete_of, min_periods, span_of
from peer import import_numba_cuda
from scan_peers import only

VARIANT = {
    "summary": "Numba CUDA, as published: a tile of outputs per thread, window of 10 span",
    "origin": "Adding the rolling and ewm functions to cuDF, its Ewm class",
    "framework": "numba",
    "needs_gpu": True,
    "clock": "numba",
    "bound": "truncated",
    "tunables": [
        {"name": "threads", "summary": "threads per block", "kind": "int", "default": 64, "min": 32, "max": 1024},
        {
            "name": "tile",
            "summary": "consecutive outputs per thread",
            "kind": "int",
            "default": 48,
            "min": 1,
            "max": 256,
        },
    ],
}

SHARED_BYTES = 48 * 1024  # of dynamic shared memory: Numba does not ask the driver for more

cuda = None  # numba.cuda, once prepare has it; a global because that is where Numba's simulator looks for it


def window_of(case):
    return max(1, math.ceil(10 * span_of(case) - 1e-6))


def shared_bytes(case, tunables):
    return 8 * (int(tunables["threads"]) * int(tunables["tile"]) + window_of(case) - 1)


def supports(case, tunables):
    refused = only(case, agg=("mean",), adjust=("true",), segments=("none",))
    if refused:
        return refused
    if shared_bytes(case, tunables) > SHARED_BYTES:
        return f"the staged elements are {shared_bytes(case, tunables)} bytes of shared memory; Numba's limit is {SHARED_BYTES}"
    n, w = case["params"]["n"], window_of(case)
    if n == 0:
        return "n=0: nothing to launch"
    if decay(case)[0] == 1 and n > w and int(tunables["tile"]) > 1:
        return f"alpha=1: the published update divides 0 by 0 once the window of {w} elements is full"
    if n > w and min_periods(case) > w:
        return f"min_periods={min_periods(case)}: a window of 10 spans sees only {w} elements"
    return None


def make_kernel():
    from numba import float64

    @cuda.jit(device=True)
    def mean_window(shared, history, out, w, span, count, offset, periods, incomplete):
        """out[i], i < count, for a thread whose first element is shared[offset], with `history` elements of the array before it."""
        q = 1.0 - 2.0 / (span + 1.0)
        total, weights, lam = 0.0, 0.0, 1.0
        terms = 0
        first = True
        for i in range(count):
            if i + history < periods - 1:
                out[i] = incomplete
            elif first:
                for j in range(min(i + history + 1, w)):
                    total += shared[offset + i - j] * lam
                    weights += lam
                    lam *= q
                    terms += 1
                out[i] = total / weights
                first = False
            else:
                if terms >= w:
                    total -= shared[offset + i - w] * lam / q
                else:
                    terms += 1
                    weights += lam
                    lam *= q
                total = total * q + shared[offset + i]
                out[i] = total / weights

    @cuda.jit
    def kernel(x, y, w, span, n, tile, periods, incomplete):
        shared = cuda.shared.array(0, float64)
        threads, thread = cuda.blockDim.x, cuda.threadIdx.x
        block = cuda.blockIdx.x * threads * tile  # the block's first output
        for j in range(tile):
            k = thread + j * threads
            if block + k < n:
                shared[k + w - 1] = x[block + k]
            cuda.syncthreads()
        for j in range(0, w - 1, threads):
            k = thread + j
            if k < w - 1 and block - w + 1 + k >= 0:
                shared[k] = x[block - w + 1 + k]
        cuda.syncthreads()
        first = block + thread * tile
        history = min(w - 1, first)
        mean_window(
            shared,
            history,
            y[first : first + tile],
            w,
            span,
            min(tile, n - first),
            w - 1 + thread * tile,
            periods,
            incomplete,
        )

    return kernel


def prepare(case, tunables, shapes):
    global cuda
    cuda = import_numba_cuda()
    n, threads, tile = shapes["x"].size, int(tunables["threads"]), int(tunables["tile"])
    return {
        "kernel": make_kernel(),
        "launch": ((n + threads * tile - 1) // (threads * tile), threads, 0, shared_bytes(case, tunables)),
        "y": cuda.device_array(n, shapes["x"].dtype),
        "scalars": (window_of(case), span_of(case), n, tile, min_periods(case), incomplete_of(case)),
    }


def run(state, inputs):
    state["kernel"][state["launch"]](inputs["x"], state["y"], *state["scalars"])
    return state["y"]
