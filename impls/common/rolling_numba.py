"""What the Numba CUDA peers of rolling share: device arrays, and window aggregates as device functions. A kernel is made for one
aggregate, window and dtype, all constants to the compiler, as the tutorial's are."""
import math

from rolling_peers import incomplete_of, window_of

AGGREGATES = ("mean", "sum", "var", "std", "min", "max")
SHARED_BYTES = 48 * 1024  # of dynamic shared memory: Numba does not ask the driver for more


def item_bytes(case):
    return 8 if case["dtype"] == "f64" else 4


def refuse_shared(case, elements):
    """supports() for kernels that keep so many elements in shared memory; None if that many fit."""
    if elements * item_bytes(case) <= SHARED_BYTES:
        return None
    return f"{elements} elements are {elements * item_bytes(case)} bytes of shared memory; Numba's limit is {SHARED_BYTES}"


def reducer(cuda, aggregate, w):
    """A device function (array, first) -> aggregate of the w elements from `first`. Two passes for var: it is the honest one."""
    if aggregate in ("min", "max"):
        smallest = aggregate == "min"

        @cuda.jit(device=True)
        def reduce(array, first):
            best = array[first]
            for k in range(1, w):
                v = array[first + k]
                if v != v or (v < best if smallest else v > best):
                    best = v
            return best

    elif aggregate in ("mean", "sum"):
        scale = 1.0 / w if aggregate == "mean" else 1.0
        divide = aggregate == "mean"

        @cuda.jit(device=True)
        def reduce(array, first):
            total = 0.0
            for k in range(w):
                total += array[first + k]
            return total / w if divide else total * scale

    else:
        root = aggregate == "std"

        @cuda.jit(device=True)
        def reduce(array, first):
            total = 0.0
            for k in range(w):
                total += array[first + k]
            mean = total / w
            squares = 0.0
            for k in range(w):
                d = array[first + k] - mean
                squares += d * d
            if w == 1:
                return math.nan
            return math.sqrt(squares / (w - 1)) if root else squares / (w - 1)

    return reduce


class Launch:
    """The state of such a peer: kernel, launch shape and device arrays."""

    def __init__(self, cuda, case, inputs, kernel, threads, outputs_per_block, shared_bytes=0):
        self.cuda, self.kernel, self.threads, self.shared_bytes = cuda, kernel, threads, shared_bytes
        n = inputs["x"].size
        self.blocks = (n + outputs_per_block - 1) // outputs_per_block
        self.y = cuda.device_array(max(n, 1), inputs["x"].dtype)
        self.x = None

    def load(self, inputs):
        if self.x is not None:
            self.x.copy_to_device(inputs["x"])
        elif inputs["x"].size:
            self.x = self.cuda.to_device(inputs["x"])

    def run(self):
        if self.blocks:
            self.kernel[self.blocks, self.threads, 0, self.shared_bytes](self.x, self.y)
        return self.y

    def fetch(self, out):
        if out["y"].size:
            self.y.copy_to_host(out["y"])


# What a peer's file needs as functions of its own: it imports these three.
def load(state, inputs):
    state.load(inputs)


def run(state):
    return state.run()


def fetch(state, outputs, out):
    del outputs
    state.fetch(out)


def constants(case):
    """Window, incomplete value and Numba's type of an element: what a kernel closes over."""
    import numba

    return window_of(case), incomplete_of(case), numba.float64 if case["dtype"] == "f64" else numba.float32
