"""Numba, windows from shared memory. Idea: the 128 threads of a block stage its 128 inputs and the w - 1 before them in shared memory,
wait for each other, and each reads its window there, the newest first. Window and length are arguments of the kernel, the sum is an
array of one element and the block waits twice, as in the source.
Traffic: about one global and w shared reads per output. Rounding: one sum per window, in float64. Limits: 128 + w - 1 elements in
48 KiB. Incomplete windows: in the kernel. Origin: the tutorial's second kernel, written anew with checks where it reads outside the
array, and with dynamic shared memory of the case's type. The source has the mean; the other aggregates take the same loop."""

from peer import import_numba_cuda
from rolling_numba import AGGREGATES, Launch, constants, item_bytes, reducer, refuse_shared, run
from rolling_peers import only_some, window_of

VARIANT = {
    "summary": "Numba CUDA: one output per thread, inputs staged in shared memory",
    "origin": "Numba CUDA + cuDF tutorial, kernel B",
    "framework": "numba",
    "needs_gpu": True,
    "clock": "numba",
    "tunables": [
        {"name": "threads", "summary": "threads per block", "kind": "int", "default": 128, "min": 32, "max": 1024}
    ],
}

cuda = None  # numba.cuda, once prepare has it; a global because that is where Numba's simulator looks for it


def staged(case, tunables):
    return int(tunables["threads"]) + window_of(case) - 1


def supports(case, tunables):
    return only_some(case, *AGGREGATES) or refuse_shared(case, staged(case, tunables))


def prepare(case, tunables, shapes):
    global cuda
    cuda = import_numba_cuda()
    incomplete, dtype = constants(case)
    reduce = reducer(case["params"]["agg"])

    @cuda.jit
    def kernel(x, y, w, n):
        shared = cuda.shared.array(0, dtype)
        threads, t = cuda.blockDim.x, cuda.threadIdx.x
        first = cuda.blockIdx.x * threads  # the block's first output
        i = first + t
        if i < n:
            shared[t + w - 1] = x[i]
        cuda.syncthreads()
        for j in range(0, w - 1, threads):
            if t + j < w - 1 and first - (w - 1) + t + j >= 0:
                shared[t + j] = x[first - (w - 1) + t + j]
        cuda.syncthreads()
        if i < n:
            if i < w - 1:
                y[i] = incomplete
            else:
                y[i] = reduce(shared, t + w - 1, w)

    threads = int(tunables["threads"])
    n = shapes["x"].size
    return Launch(
        cuda,
        n,
        shapes["x"].dtype,
        kernel,
        threads,
        threads,
        staged(case, tunables) * item_bytes(case),
        (window_of(case), n),
    )
