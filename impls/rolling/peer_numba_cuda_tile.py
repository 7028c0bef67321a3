"""Numba, a tile of outputs per thread. Idea: 64 threads stage 64 * 48 inputs and the w - 1 before them in shared memory; each thread
makes 48 consecutive outputs: the first from its whole window, the following by s += (new - old) / w, where s is the mean; var from
the running means of x and x^2. min and max cannot drop and read the whole window for each output. Window and length are arguments
of the kernel, as in the tutorial, the tile too, as in its sequel; the block waits after each step of staging.
Traffic: about one global read per output, 2 + w / 48 shared ones. Rounding: a running mean keeps what a large element left behind in
it, and of integers it is not exact; var as E[x^2] - E[x]^2: hence the bound `textbook`. Limits: the staged elements in 48 KiB.
Incomplete windows: in the kernel. Origin: the tutorial's third kernel and its sequel's Rolling class, written anew with checks where
they read outside the array, and with dynamic shared memory of the case's type."""

import math

from peer import import_numba_cuda
from rolling_numba import AGGREGATES, Launch, constants, item_bytes, reducer, refuse_shared, run
from rolling_peers import only_some, window_of

VARIANT = {
    "summary": "Numba CUDA: a tile of outputs per thread, add one, drop one",
    "origin": "Numba CUDA + cuDF tutorial, kernel C; its sequel's Rolling class",
    "framework": "numba",
    "needs_gpu": True,
    "clock": "numba",
    "bound": "textbook",
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

cuda = None  # numba.cuda, once prepare has it; a global because that is where Numba's simulator looks for it


def staged(case, tunables):
    return int(tunables["threads"]) * int(tunables["tile"]) + window_of(case) - 1


def supports(case, tunables):
    return only_some(case, *AGGREGATES) or refuse_shared(case, staged(case, tunables))


def means(aggregate, incomplete):
    """A device function that writes one thread's outputs: their newest elements are shared[newest], shared[newest + 1], ...;
    `history` elements of the array come before the first."""
    import numba

    divide, spread, root = aggregate != "sum", aggregate in ("var", "std"), aggregate == "std"

    @cuda.jit(device=True)
    def outputs(shared, newest, history, out, w):
        state = cuda.local.array(2, numba.float64)  # the window's mean (or sum) and its mean of squares
        state[0], state[1] = 0.0, 0.0
        started = False
        for i in range(out.size):
            at = newest + i
            if i + history < w - 1:
                out[i] = incomplete
                continue
            if not started:
                started = True
                for j in range(w):
                    state[0] += shared[at - j]
                    if spread:
                        state[1] += shared[at - j] * shared[at - j]
                if divide:
                    state[0] /= w
                    state[1] /= w
            else:
                came, went = shared[at], shared[at - w]
                if divide:
                    state[0] += (came - went) / w
                else:
                    state[0] = state[0] + came - went
                if spread:
                    state[1] += (came * came - went * went) / w
            if not spread:
                out[i] = state[0]
            elif w == 1:
                out[i] = math.nan
            else:
                variance = (state[1] - state[0] * state[0]) * w / (w - 1)
                out[i] = math.sqrt(variance) if root else variance

    return outputs


def extremes(aggregate, incomplete):
    reduce = reducer(aggregate)

    @cuda.jit(device=True)
    def outputs(shared, newest, history, out, w):
        for i in range(out.size):
            if i + history < w - 1:
                out[i] = incomplete
            else:
                out[i] = reduce(shared, newest + i, w)

    return outputs


def prepare(case, tunables, shapes):
    global cuda
    cuda = import_numba_cuda()
    incomplete, dtype = constants(case)
    make = extremes if case["params"]["agg"] in ("min", "max") else means
    outputs = make(case["params"]["agg"], incomplete)

    @cuda.jit
    def kernel(x, y, w, tile, n):
        shared = cuda.shared.array(0, dtype)
        threads, t = cuda.blockDim.x, cuda.threadIdx.x
        first = cuda.blockIdx.x * threads * tile  # the block's first output
        for j in range(tile):
            k = t + j * threads
            if first + k < n:
                shared[k + w - 1] = x[first + k]
            cuda.syncthreads()
        for j in range(0, w - 1, threads):
            if t + j < w - 1 and first - (w - 1) + t + j >= 0:
                shared[t + j] = x[first - (w - 1) + t + j]
        cuda.syncthreads()
        begin = first + t * tile
        if begin < n:
            outputs(shared, w - 1 + t * tile, min(w - 1, begin), y[begin : min(begin + tile, n)], w)

    threads, tile = int(tunables["threads"]), int(tunables["tile"])
    n = shapes["x"].size
    return Launch(
        cuda,
        n,
        shapes["x"].dtype,
        kernel,
        threads,
        threads * tile,
        staged(case, tunables) * item_bytes(case),
        (window_of(case), tile, n),
    )
