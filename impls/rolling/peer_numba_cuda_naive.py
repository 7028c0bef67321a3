"""Numba, one output per thread. Idea: 128 threads per block; each reads the w elements of its window from global memory, the newest
first. Window and length are arguments of the kernel and the sum is an array of one element, as in the source.
Traffic: w reads per output, most of them from cache. Rounding: one sum per window, in float64. Incomplete windows: in the kernel.
Origin: the tutorial's first kernel, written anew. The source has the mean; the other aggregates take the same loop."""

from peer import import_numba_cuda
from rolling_numba import AGGREGATES, Launch, constants, reducer, run
from rolling_peers import only_some, window_of

VARIANT = {
    "summary": "Numba CUDA: one output per thread, global memory",
    "origin": "Numba CUDA + cuDF tutorial, kernel A",
    "framework": "numba",
    "needs_gpu": True,
    "clock": "numba",
    "tunables": [
        {"name": "threads", "summary": "threads per block", "kind": "int", "default": 128, "min": 32, "max": 1024}
    ],
}

cuda = None  # numba.cuda, once prepare has it; a global because that is where Numba's simulator looks for it


def supports(case, tunables):
    return only_some(case, *AGGREGATES)


def prepare(case, tunables, shapes):
    global cuda
    cuda = import_numba_cuda()
    incomplete, _ = constants(case)
    reduce = reducer(case["params"]["agg"])

    @cuda.jit
    def kernel(x, y, w, n):
        i = cuda.grid(1)
        if i < n:
            if i < w - 1:
                y[i] = incomplete
            else:
                y[i] = reduce(x, i, w)

    threads = int(tunables["threads"])
    n, dtype = shapes["x"].size, shapes["x"].dtype
    return Launch(cuda, n, dtype, kernel, threads, threads, arguments=(window_of(case), n))
