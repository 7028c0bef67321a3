"""Numba, one output per thread. Idea: 128 threads per block; each reads the w elements of its window from global memory.
Traffic: w reads per output, most of them from cache. Rounding: one sum per window, in float64. Incomplete windows: in the kernel.
Origin: source 1's first kernel, written anew with the bounds that any n needs."""
from peer import import_numba_cuda
from rolling_numba import AGGREGATES, Launch, constants, fetch, load, reducer, run
from rolling_peers import only

VARIANT = {
    "summary": "Numba CUDA: one output per thread, global memory",
    "origin": "Numba CUDA + cuDF tutorial, kernel A",
    "framework": "numba",
    "needs_gpu": True,
    "clock": "numba",
    "tunables": [{"name": "threads", "summary": "threads per block", "kind": "int", "default": 128, "min": 32, "max": 1024}],
}

cuda = None  # numba.cuda, once prepare has it; a global because that is where Numba's simulator looks for it


def supports(case, tunables):
    del tunables
    return only(case, *AGGREGATES)


def prepare(case, tunables, inputs):
    global cuda
    cuda = import_numba_cuda()
    w, incomplete, _ = constants(case)
    reduce = reducer(cuda, case["params"]["agg"], w)

    @cuda.jit
    def kernel(x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = reduce(x, i - (w - 1)) if i >= w - 1 else incomplete

    threads = int(tunables["threads"])
    return Launch(cuda, case, inputs, kernel, threads, threads)
