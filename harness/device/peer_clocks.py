"""peer_clocks.py - how each library queues, marks and waits:
    wait()            until the device is done
    finish(kept)      until the call is done whose result is `kept`, the device having been idle before, and nothing else
    stall(seconds)    queue that much idling, so that what is queued behind it does not wait for the host
    flush()           queue (or do) a write of at least twice the last cache
    mark() -> event   a point in the queue;   seconds(a, b) between two of them, once reached
    end(kept)         the mark behind calls of which `kept` is the last result: a clock without events waits for that one here
    graph(run)        -> (replay, kept), kept being where a replay leaves its result; or (None, why it cannot be had)
    spoil(array)      overwrite an array of the library
"""
import glob
import time

MIN_FLUSH_BYTES = 256 << 20


class Clock:
    def finish(self, kept):
        del kept
        self.wait()

    def end(self, kept):
        del kept
        return self.mark()


class CpuClock(Clock):
    name = "steady clock"
    enqueues = False

    def __init__(self):
        import numpy

        self.numpy = numpy
        self.junk = None

    def wait(self):
        pass

    def stall(self, seconds):
        pass

    def flush(self):
        if self.junk is None:
            self.junk = self.numpy.zeros(max(64 << 20, 2 * last_level_cache_bytes()), dtype=self.numpy.uint8)
        self.junk += 1

    def mark(self):
        return time.perf_counter()

    def seconds(self, begin, end):
        return end - begin

    def graph(self, run):
        return None, "this peer runs on the CPU"


def last_level_cache_bytes():
    sizes = [0]
    for path in glob.glob("/sys/devices/system/cpu/cpu0/cache/index*/size"):
        with open(path, encoding="ascii") as file:
            text = file.read().strip()
        sizes.append(int(text.rstrip("KMG")) * {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1], 1))
    return max(sizes)


class GpuClock(Clock):
    name = "cuda events"
    enqueues = True


class TorchClock(GpuClock):
    def __init__(self):
        import torch

        self.torch = torch
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        self.junk = torch.empty(max(MIN_FLUSH_BYTES, 2 * properties.L2_cache_size), dtype=torch.uint8, device="cuda")
        self.wait = torch.cuda.synchronize

    def stall(self, seconds):
        self.torch.cuda._sleep(int(seconds * 2e9))  # cycles of a clock of about 2 GHz

    def flush(self):
        self.junk.fill_(1)

    def mark(self):
        event = self.torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def seconds(self, begin, end):
        return begin.elapsed_time(end) * 1e-3

    def graph(self, run):
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            kept = run()
        return graph.replay, kept

    def spoil(self, array):
        array.fill_(float("nan") if array.is_floating_point() else 85)


class CupyClock(GpuClock):
    def __init__(self):
        import cupy

        self.cupy = cupy
        cache = cupy.cuda.Device().attributes.get("L2CacheSize", 0)
        self.junk = cupy.empty(max(MIN_FLUSH_BYTES, 2 * cache), dtype=cupy.uint8)
        self.spin = cupy.RawKernel(
            'extern "C" __global__ void spin(long long cycles) { const long long t = clock64(); while (clock64() - t < cycles) {} }', "spin")

    def wait(self):
        self.cupy.cuda.Device().synchronize()

    def stall(self, seconds):
        self.spin((1,), (1,), (self.cupy.int64(seconds * 2e9),))

    def flush(self):
        self.junk.fill(1)

    def mark(self):
        event = self.cupy.cuda.Event()
        event.record()
        return event

    def seconds(self, begin, end):
        return self.cupy.cuda.get_elapsed_time(begin, end) * 1e-3

    def graph(self, run):
        stream = self.cupy.cuda.Stream(non_blocking=True)
        with stream:
            run()  # compiled, and its memory in the pool, before the capture forbids both
            stream.synchronize()
            stream.begin_capture()
            kept = run()
            graph = stream.end_capture()
        return graph.launch, kept

    def spoil(self, array):
        array.fill(float("nan") if array.dtype.kind == "f" else 85)


class NumbaClock(GpuClock):
    def __init__(self):
        from numba import cuda

        self.cuda = cuda
        try:
            cache = cuda.get_current_device().L2_CACHE_SIZE
        except AttributeError:
            cache = 0
        self.junk = cuda.device_array(max(MIN_FLUSH_BYTES, 2 * cache) // 8, dtype="float64")

        @cuda.jit
        def fill(array):
            i = cuda.grid(1)
            if i < array.size:
                array[i] = 1.0

        @cuda.jit
        def doze(times):
            for _ in range(times):
                cuda.nanosleep(100000)

        self.fill, self.doze = fill, doze
        self.wait = cuda.synchronize

    def stall(self, seconds):
        self.doze[1, 1](int(seconds * 1e4) + 1)

    def flush(self):
        self.fill[(self.junk.size + 255) // 256, 256](self.junk)

    def mark(self):
        event = self.cuda.event(timing=True)
        event.record()
        return event

    def seconds(self, begin, end):
        return self.cuda.event_elapsed_time(begin, end) * 1e-3

    def graph(self, run):
        return None, "Numba has no CUDA graphs"


class JaxClock(Clock):
    """JAX has no events: the host's clock, from the call until its result is there. So the time to launch is in every sample."""
    name = "steady clock"
    enqueues = True

    def __init__(self):
        import jax

        self.jax = jax
        self.increment = jax.jit(lambda array: array + 1, donate_argnums=0)
        self.junk = jax.numpy.zeros(MIN_FLUSH_BYTES, dtype="uint8")
        self.little = jax.numpy.zeros(1, dtype="uint8")

    def wait(self):  # a device does one program after the other: when this one is done, so are those before it
        self.little = self.jax.block_until_ready(self.increment(self.little))

    def finish(self, kept):
        self.jax.block_until_ready(kept)

    def stall(self, seconds):
        pass

    def flush(self):
        self.junk = self.jax.block_until_ready(self.increment(self.junk))

    def mark(self):
        return time.perf_counter()

    def end(self, kept):
        self.jax.block_until_ready(kept)
        return time.perf_counter()

    def seconds(self, begin, end):
        return end - begin

    def graph(self, run):
        return None, "JAX does not hand out what it launches"


CLOCKS = {"cpu": CpuClock, "torch": TorchClock, "cupy": CupyClock, "numba": NumbaClock, "jax": JaxClock}
