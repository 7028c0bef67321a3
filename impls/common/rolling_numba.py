"""What Numba's tile kernels share: launches (rolling, ewm), and rolling's windows as device functions. As in the
tutorial, window, tile and length are arguments of a kernel, threads are its blockDim; only the aggregate is a constant."""

import math

from peer import import_numba_cuda
from rolling_peers import incomplete_of

AGGREGATES = ("mean", "sum", "var", "std", "min", "max")
SHARED_BYTES = 48 * 1024  # of dynamic shared memory: Numba does not ask the driver for more

cuda = None  # numba.cuda, once reducer() has it; a global because that is where Numba's simulator looks for it


def item_bytes(case):
    return 8 if case["dtype"] == "f64" else 4


def refuse_shared(case, elements):
    """supports() for kernels that keep so many elements in shared memory; None if that many fit."""
    if elements * item_bytes(case) <= SHARED_BYTES:
        return None
    return (
        f"{elements} elements are {elements * item_bytes(case)} bytes of shared memory; Numba's limit is {SHARED_BYTES}"
    )


def reducer(aggregate):
    """A device function (array, newest, w) -> aggregate of the w elements that end at `newest`, read backwards. The sum is an array of
    one element, as in the tutorial. The tutorial has the mean alone; var takes two passes."""
    global cuda
    cuda = import_numba_cuda()
    import numba

    if aggregate in ("min", "max"):
        smallest = aggregate == "min"

        @cuda.jit(device=True)
        def reduce(array, newest, w):
            best = array[newest]
            for j in range(1, w):
                v = array[newest - j]
                if v != v or (v < best if smallest else v > best):
                    best = v
            return best

    elif aggregate in ("mean", "sum"):
        divide = aggregate == "mean"

        @cuda.jit(device=True)
        def reduce(array, newest, w):
            total = cuda.local.array(1, numba.float64)
            total[0] = 0.0
            for j in range(w):
                total[0] += array[newest - j]
            return total[0] / w if divide else total[0]

    else:
        root = aggregate == "std"

        @cuda.jit(device=True)
        def reduce(array, newest, w):
            total = cuda.local.array(1, numba.float64)
            total[0] = 0.0
            for j in range(w):
                total[0] += array[newest - j]
            mean = total[0] / w
            total[0] = 0.0
            for j in range(w):
                d = array[newest - j] - mean
                total[0] += d * d
            if w == 1:
                return math.nan
            return math.sqrt(total[0] / (w - 1)) if root else total[0] / (w - 1)

    return reduce


class Launch:
    """The state of such a peer: kernel, launch shape, the output, and the kernel's arguments behind x and y."""

    def __init__(self, cuda, n, dtype, kernel, threads, outputs_per_block, shared_bytes=0, arguments=()):
        self.shape = ((n + outputs_per_block - 1) // outputs_per_block, threads, 0, shared_bytes)
        self.kernel, self.arguments, self.y = kernel, arguments, cuda.device_array(n, dtype) if n else None


def run(state, inputs):
    """What a peer's file needs as a function of its own: it imports this one."""
    state.kernel[state.shape](inputs["x"], state.y, *state.arguments)
    return state.y


def constants(case):
    """Incomplete value and Numba's type of an element: what a kernel closes over."""
    import numba

    return incomplete_of(case), numba.float64 if case["dtype"] == "f64" else numba.float32
