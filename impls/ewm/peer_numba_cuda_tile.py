"""Numba, the truncated tile of the source. Idea: 64 threads stage 64 * 48 + 10 span - 1 inputs in shared memory; each thread makes 48
consecutive outputs: the first from the newest 10 span elements, the following by decaying, adding the element that enters and
dropping the one that leaves; the sum of the weights likewise. Traffic: about one global read per output, 2 + 10 span / 48 shared
ones. Rounding: float64; what is older than 10 span elements is left out: hence the bound `truncated`.
Limits: mean, adjust=true; the staged elements in 48 KiB (span 307 in float64); a NaN stays to the end of its tile, so nan=decay is right
for inputs without one. Incomplete outputs: in the kernel.
Origin: the source's Ewm class, written anew with the bounds that any n and span needs."""
import math

from ewm_peers import decay, incomplete_of, min_periods, span_of
from peer import import_numba_cuda
from rolling_numba import Launch, fetch, item_bytes, load, refuse_shared, run
from scan_peers import only

VARIANT = {
    "summary": "Numba CUDA: a tile of outputs per thread, window of 10 span",
    "origin": "Adding the rolling and ewm functions to cuDF, its Ewm class",
    "framework": "numba",
    "needs_gpu": True,
    "clock": "numba",
    "bound": "truncated",
    "tunables": [
        {"name": "threads", "summary": "threads per block", "kind": "int", "default": 64, "min": 32, "max": 1024},
        {"name": "tile", "summary": "consecutive outputs per thread", "kind": "int", "default": 48, "min": 1, "max": 256},
    ],
}

cuda = None  # numba.cuda, once prepare has it; a global because that is where Numba's simulator looks for it


def window_of(case):
    return max(1, math.ceil(10 * span_of(case) - 1e-6))


def staged(case, tunables):
    return int(tunables["threads"]) * int(tunables["tile"]) + window_of(case) - 1


def supports(case, tunables):
    return only(case, agg=("mean",), adjust=("true",), segments=("none",)) or refuse_shared(case, staged(case, tunables))


def tile_outputs(cuda, case, tile):
    """A device function: the tile of one thread. shared[at] is the first element of the first output's window."""
    w, periods, incomplete = window_of(case), min_periods(case), incomplete_of(case)
    _, q = decay(case)
    dropped = q**w

    @cuda.jit(device=True)
    def outputs(shared, at, y, begin, n):
        total, weights = 0.0, 0.0
        for k in range(max(0, w - 1 - begin), w - 1):  # what comes before the first output, as far as there is any
            total = total * q + shared[at + k]
            weights = weights * q + 1.0
        for j in range(tile):
            i = begin + j
            if i >= n:
                break
            total = total * q + shared[at + j + w - 1]
            weights = weights * q + 1.0
            if i >= w and j > 0:
                total -= dropped * shared[at + j - 1]
                weights -= dropped
            y[i] = total / weights if i >= periods - 1 else incomplete

    return outputs


def prepare(case, tunables, inputs):
    global cuda
    cuda = import_numba_cuda()
    import numba

    dtype = numba.float64 if case["dtype"] == "f64" else numba.float32
    w, elements = window_of(case), staged(case, tunables)
    threads, tile = int(tunables["threads"]), int(tunables["tile"])
    outputs = tile_outputs(cuda, case, tile)

    @cuda.jit
    def kernel(x, y):
        shared = cuda.shared.array(0, dtype)
        block = cuda.blockIdx.x * threads * tile  # the block's first output
        k = cuda.threadIdx.x
        while k < elements:
            e = block - (w - 1) + k
            if 0 <= e < x.size:
                shared[k] = x[e]
            k += threads
        cuda.syncthreads()
        at = cuda.threadIdx.x * tile
        outputs(shared, at, y, block + at, x.size)

    return Launch(cuda, case, inputs, kernel, threads, threads * tile, elements * item_bytes(case))
