"""Numba, windows from shared memory. Idea: the 128 threads of a block stage its 128 + w - 1 inputs in shared memory, wait for each
other, and each reads its window there. Traffic: about one global and w shared reads per output. Rounding: one sum per window, in
float64. Limits: 128 + w - 1 elements in 48 KiB. Incomplete windows: in the kernel.
Origin: source 1's second kernel, written anew with the bounds that any n needs."""
from peer import import_numba_cuda
from rolling_numba import AGGREGATES, Launch, constants, fetch, item_bytes, load, reducer, refuse_shared, run
from rolling_peers import only, window_of

VARIANT = {
    "summary": "Numba CUDA: one output per thread, inputs staged in shared memory",
    "origin": "Numba CUDA + cuDF tutorial, kernel B",
    "framework": "numba",
    "needs_gpu": True,
    "clock": "numba",
    "tunables": [{"name": "threads", "summary": "threads per block", "kind": "int", "default": 128, "min": 32, "max": 1024}],
}

cuda = None  # numba.cuda, once prepare has it; a global because that is where Numba's simulator looks for it


def staged(case, tunables):
    return int(tunables["threads"]) + window_of(case) - 1


def supports(case, tunables):
    return only(case, *AGGREGATES) or refuse_shared(case, staged(case, tunables))


def prepare(case, tunables, inputs):
    global cuda
    cuda = import_numba_cuda()
    w, incomplete, dtype = constants(case)
    threads, elements = int(tunables["threads"]), staged(case, tunables)
    reduce = reducer(cuda, case["params"]["agg"], w)

    @cuda.jit
    def kernel(x, y):
        tile = cuda.shared.array(0, dtype)
        first = cuda.blockIdx.x * threads - (w - 1)  # of the elements staged; negative in the first blocks
        k = cuda.threadIdx.x
        while k < elements:
            if 0 <= first + k < x.size:
                tile[k] = x[first + k]
            k += threads
        cuda.syncthreads()
        i = cuda.grid(1)
        if i < x.size:
            y[i] = reduce(tile, cuda.threadIdx.x) if i >= w - 1 else incomplete

    return Launch(cuda, case, inputs, kernel, threads, threads, elements * item_bytes(case))
