"""Numba, a tile of outputs per thread. Idea: 64 threads stage 64 * 48 + w - 1 inputs in shared memory; each thread makes 48 consecutive
outputs: the first from its whole window, the following by adding the element that enters and dropping the one that leaves. min and max
cannot drop and read the whole window for each output. Traffic: about one global read per output, 2 + w / 48 shared ones.
Rounding: a running sum keeps what a large element left behind in it; var as E[x^2] - E[x]^2: hence the bound `textbook`.
Limits: the staged elements in 48 KiB. Incomplete windows: in the kernel.
Origin: source 1's third kernel and source 2's, written anew with the bounds that any n needs."""
import math

from peer import import_numba_cuda
from rolling_numba import AGGREGATES, Launch, constants, fetch, item_bytes, load, reducer, refuse_shared, run
from rolling_peers import only, window_of

VARIANT = {
    "summary": "Numba CUDA: a tile of outputs per thread, add one, drop one",
    "origin": "Numba CUDA + cuDF tutorial, kernel C; its sequel's Rolling class",
    "framework": "numba",
    "needs_gpu": True,
    "clock": "numba",
    "bound": "textbook",
    "tunables": [
        {"name": "threads", "summary": "threads per block", "kind": "int", "default": 64, "min": 32, "max": 1024},
        {"name": "tile", "summary": "consecutive outputs per thread", "kind": "int", "default": 48, "min": 1, "max": 256},
    ],
}

cuda = None  # numba.cuda, once prepare has it; a global because that is where Numba's simulator looks for it


def staged(case, tunables):
    return int(tunables["threads"]) * int(tunables["tile"]) + window_of(case) - 1


def supports(case, tunables):
    return only(case, *AGGREGATES) or refuse_shared(case, staged(case, tunables))


def finisher(cuda, aggregate, w):
    """A device function (sum, sum of squares) -> the aggregate."""
    kind = ("mean", "sum", "var", "std").index(aggregate)

    @cuda.jit(device=True)
    def finish(total, squares):
        if kind == 0:
            return total / w
        if kind == 1:
            return total
        if w == 1:
            return math.nan
        variance = (squares - total * total / w) / (w - 1)
        return variance if kind == 2 else math.sqrt(variance)

    return finish


def running_outputs(cuda, aggregate, w, incomplete, tile):
    """A device function: the tile of one thread by add and drop. `at` is the place of the first window's first element."""
    finish = finisher(cuda, aggregate, w)

    @cuda.jit(device=True)
    def outputs(shared, at, y, begin, n):
        total, squares, started = 0.0, 0.0, False
        for j in range(tile):
            i = begin + j
            if i >= n:
                break
            if i < w - 1:
                y[i] = incomplete
                continue
            if started:
                came, went = shared[at + j + w - 1], shared[at + j - 1]
                total += came - went
                squares += came * came - went * went
            else:
                for k in range(w):
                    v = shared[at + j + k]
                    total += v
                    squares += v * v
                started = True
            y[i] = finish(total, squares)

    return outputs


def whole_outputs(cuda, aggregate, w, incomplete, tile):
    reduce = reducer(cuda, aggregate, w)

    @cuda.jit(device=True)
    def outputs(shared, at, y, begin, n):
        for j in range(tile):
            i = begin + j
            if i < n:
                y[i] = reduce(shared, at + j) if i >= w - 1 else incomplete

    return outputs


def prepare(case, tunables, inputs):
    global cuda
    cuda = import_numba_cuda()
    w, incomplete, dtype = constants(case)
    threads, tile, elements = int(tunables["threads"]), int(tunables["tile"]), staged(case, tunables)
    make = whole_outputs if case["params"]["agg"] in ("min", "max") else running_outputs
    outputs = make(cuda, case["params"]["agg"], w, incomplete, tile)

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
