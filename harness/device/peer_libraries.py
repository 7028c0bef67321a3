"""peer_libraries.py - what the timing engine has to know of each library:
    stream()          the raw CUDA stream that its calls go to
    graph(run)        -> (replay, kept), kept being where a replay leaves its result; or (None, why it cannot be had)
    wait()            until the device is done;   poison(array)  overwrite an array of the library
    free_bytes()      of the GPU's memory, where arrays of the library can be written
JAX hides its stream, so it is timed here, by the host's clock from the call until its result is there: launch latency is in every sample.
A library is made before the peer is imported, and from then on calls nothing that Python code can replace: what it needs is bound, or compiled.
"""

import ctypes
import gc
import types
from time import perf_counter

import peer_protocol as wire
from peer_protocol import Failure

FLUSH_BYTES = 256 << 20  # at least twice the L2 of any GPU


def reply(samples=(), clock=None, why_none=None, sm_mhz=None, calls_per_sample=1):
    """Of one mode, as the protocol has it."""
    return {
        wire.KEY_SAMPLES: list(samples),
        wire.KEY_SM_MHZ: sm_mhz,
        wire.KEY_CALLS_PER_SAMPLE: calls_per_sample,
        wire.KEY_CLOCK: clock,
        wire.KEY_WHY_NONE: why_none,
    }


# Functions of librungs_measure.so, looked up before the peer is imported; a build without CUDA has not all.
CALLED = (
    *("status_message", "status_word", "mode_parse", "samples_free", "vary_offsets", "vary_gpu", "digest_of"),
    *(
        "measure_gpu",
        "measure_cpu",
        "measure_asked",
        "measure_cool_end",
        "measure_vary",
        "measure_varied",
        "measure_rewritten",
        "measure_watch",
        "measure_worked",
    ),
    *("measure_look_at_handlers", "measure_check_handlers", "disturb_gpu", "disturb_gpu_end"),
    *("move_gpu", "fill_gpu", "wait_gpu", "free_gpu"),
)


class Measure:
    """librungs_measure.so, at this path. load: ctypes.PyDLL: no other thread of Python's goes on in a call."""

    def __init__(self, measure, load=ctypes.CDLL):
        self.c = load(measure)
        for name in CALLED:
            getattr(self.c, name, None)
        self.c.status_message.restype = self.c.status_word.restype = ctypes.c_char_p

    def expect_ok(self, status):
        if status:
            raise Failure(self.c.status_word(status).decode(), self.c.status_message().decode())


class Gpu(Measure):
    """What the harness itself does on a GPU."""

    def move(self, to, address, size):
        self.expect_ok(self.c.move_gpu(ctypes.c_void_p(to), ctypes.c_void_p(address), ctypes.c_size_t(size)))

    def fill(self, to, byte, size):
        self.expect_ok(self.c.fill_gpu(ctypes.c_void_p(to), byte, ctypes.c_size_t(size)))

    def wait(self):
        self.expect_ok(self.c.wait_gpu())

    def free_bytes(self):
        size = ctypes.c_size_t()
        self.expect_ok(self.c.free_gpu(ctypes.byref(size)))
        return size.value


class Host:
    """Bytes of this process: by all cores, and no other thread of Python's goes on meanwhile."""

    def __init__(self, measure):
        self.c = ctypes.PyDLL(measure)
        self.c.bytes_copy.restype = self.c.bytes_fill.restype = None
        self.c.bytes_first_difference.restype = ctypes.c_size_t

    def move(self, to, address, size):
        self.c.bytes_copy(ctypes.c_void_p(to), ctypes.c_void_p(address), ctypes.c_size_t(size))

    def fill(self, to, byte, size):
        self.c.bytes_fill(ctypes.c_void_p(to), ctypes.c_ubyte(byte), ctypes.c_size_t(size))

    def same(self, a, b, size):
        return self.c.bytes_first_difference(ctypes.c_void_p(a), ctypes.c_void_p(b), ctypes.c_size_t(size)) == size


class Library:
    """measure: librungs_measure.so."""

    on_gpu, captures, times_itself = False, False, False

    def __init__(self, measure=None):
        pass

    def wait(self):
        pass

    def free_bytes(self):
        return 0


class OnGpu(Gpu, Library):
    on_gpu = captures = True


class Torch(OnGpu):
    def __init__(self, measure):
        import torch

        super().__init__(measure)
        torch.cuda.init()
        self.new, self.capture, self.current = (
            torch.cuda.CUDAGraph,
            torch.cuda.graph,
            torch._C._cuda_getCurrentRawStream,
        )
        self.capture(self.new())  # makes the stream of all captures, which PyTorch keeps in a class

    def stream(self):
        return self.current(0)

    def graph(self, run):
        graph = self.new()
        with self.capture(graph):
            kept = run()
        return graph.replay, kept

    def poison(self, array):
        array.fill_(float("nan") if array.is_floating_point() else 85)


class Cupy(OnGpu):
    def __init__(self, measure):
        import cupy

        super().__init__(measure)
        self.new, self.current = cupy.cuda.Stream, cupy.cuda.get_current_stream

    def stream(self):
        return self.current().ptr

    def graph(self, run):
        stream = self.new(non_blocking=True)
        with stream:
            run()  # compiled, and its memory in the pool, before the capture forbids both
            stream.synchronize()
            stream.begin_capture()
            kept = run()
            graph = stream.end_capture()
        return graph.launch, kept

    def poison(self, array):
        array.fill(float("nan") if array.dtype.kind == "f" else 85)


class Numba(OnGpu):
    def __init__(self, measure):
        from numba import cuda

        super().__init__(measure)
        if hasattr(cuda, "default_stream"):
            handle = cuda.default_stream().handle  # a ctypes value, or an object of cuda.bindings, or None
            self.default = int(getattr(handle, "value", handle) or 0)
        else:
            self.wait = cuda.synchronize  # Numba's simulator, which needs no GPU

    def stream(self):
        return self.default

    def graph(self, run):
        return None, "Numba has no CUDA graphs"


class Cudf(OnGpu):
    def stream(self):
        return 0  # the legacy default stream

    def graph(self, run):
        return None, "cuDF works on the default stream, which cannot be captured"


class Jax(Gpu, Library):
    on_gpu = times_itself = True

    def __init__(self, measure):
        import jax

        super().__init__(measure)
        self.disable, self.enable = gc.disable, gc.enable
        self.ready = jax.block_until_ready
        self.increment = jax.jit(lambda array: array + 1, donate_argnums=0)
        self.flushed = jax.numpy.zeros(FLUSH_BYTES, dtype="uint8")
        self.little, self.kept = jax.numpy.zeros(1, dtype="uint8"), None

    def wait(self):  # a device does one program after the other: when this one is done, so are those before it
        self.little = self.ready(self.increment(self.little))

    def flush(self):
        self.flushed = self.ready(self.increment(self.flushed))

    def sample(self, mode, run):
        if mode == "cold":
            self.flush()
        self.wait()
        self.c.measure_look_at_handlers()
        begin = perf_counter()
        kept = run()
        if mode != "enqueue":
            self.ready(kept)
        seconds = perf_counter() - begin
        self.disable()  # as peer_timing.py has it, until all samples are taken
        self.expect_ok(self.c.measure_check_handlers())
        self.kept = self.ready(kept)
        return seconds

    def sample_at(self, place, run, rotation):
        """A sample, with what rotation does before and after it."""
        if rotation:
            rotation.before(place)
        seconds = self.sample(place.mode.decode(), run)
        if rotation and not place.pilot:
            place.seconds = seconds
            rotation.taken(place, self.kept)
        return seconds

    def time(self, mode, run, limits, rotation=None):
        if mode == "graph":
            return reply(why_none="JAX does not hand out what it launches")
        where = {"mode": mode.encode(), "warm": mode in ("hot", "complete"), "back_to_back": mode == "hot"}
        begin = perf_counter()
        try:
            self.sample_at(types.SimpleNamespace(**where, index=0, count=0, pilot=True), run, rotation)
            affordable = int(limits[wire.KEY_SECONDS] / (perf_counter() - begin))
            count = max(limits[wire.KEY_MIN_SAMPLES], min(limits[wire.KEY_MAX_SAMPLES], affordable))
            samples = [
                self.sample_at(types.SimpleNamespace(**where, index=i, count=count, pilot=False), run, rotation)
                for i in range(count)
            ]
        finally:
            self.enable()
        most = limits[wire.KEY_MAX_SAMPLES]
        return reply(samples, "steady clock") | {wire.KEY_STOPPED: "samples" if count >= most else "seconds"}


LIBRARIES = {"cpu": Library, "torch": Torch, "cupy": Cupy, "numba": Numba, "cudf": Cudf, "jax": Jax}
