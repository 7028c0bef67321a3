"""peer_timing.py - samples of a peer's run(), taken by the code that times our own variants: harness/measure, which the build also makes a shared
library (librungs_measure.so), called through ctypes on the library's own stream. JAX hands out no stream: peer_libraries.py times it."""

import ctypes
import gc
import os

import peer_protocol as wire
from peer_libraries import Measure, reply

CALL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
FAILED = 7  # STATUS_INTERNAL; what went wrong is the exception


def structure(name, **fields):
    """As in measure/measure.h."""
    return type(name, (ctypes.Structure,), {"_fields_": list(fields.items())})


Flag, Size, Text, Pointer = ctypes.c_bool, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p
Numbers = ctypes.POINTER(ctypes.c_double)
SamplePlace = structure(
    "SamplePlace",
    mode=Text,
    index=Size,
    count=Size,
    pilot=Flag,
    warm=Flag,
    back_to_back=Flag,
    longer=Flag,
    seconds=ctypes.c_double,
)
BEFORE = ctypes.CFUNCTYPE(ctypes.c_int, Pointer, ctypes.POINTER(SamplePlace))
BETWEEN = ctypes.CFUNCTYPE(ctypes.c_int, Pointer, Size, ctypes.c_bool)
TAKEN = ctypes.CFUNCTYPE(ctypes.c_int, Pointer, ctypes.POINTER(SamplePlace))
MeasuredWork = structure(
    "MeasuredWork",
    run=CALL,
    context=Pointer,
    after=CALL,
    host_counts=Flag,
    before=BEFORE,
    taken=TAKEN,
    between=BETWEEN,
    between_context=Pointer,
    calls_most=Size,
    rested=CALL,
    last=Flag,
)
SamplingPace = structure(
    "SamplingPace",
    min_samples=Size,
    max_samples=Size,
    seconds=ctypes.c_double,
    precision=ctypes.c_double,
    throttling=Pointer,
)
Samples = structure(
    "Samples",
    seconds=Numbers,
    sm_mhz=Numbers,
    count=Size,
    calls_per_sample=Size,
    between_seconds=ctypes.c_double,
    clock=Text,
    stopped=Text,
    why_none=ctypes.c_char * 256,
)


class Ranges:
    """NVTX ranges by harness/base/ranges.c. Where no tool listens nothing is called, and a call is timed as it is."""

    def __init__(self, path):
        self.c = ctypes.CDLL(path) if path and "NVTX_INJECTION64_PATH" in os.environ else None

    def begin(self, kind, name):
        if self.c:
            self.c.ranges_push(kind.encode(), name.encode())

    def end(self):
        if self.c:
            self.c.ranges_pop()

    def around(self, kind, name, call):
        def named():
            self.begin(kind, name)
            try:
                return call()
            finally:
                self.end()

        return named if self.c else call


class Engine(Measure):
    """path: librungs_measure.so. library: of peer_libraries.LIBRARIES. keep: peer_own.Own.keep, of what is made for a mode."""

    def __init__(self, path, library):
        super().__init__(path)
        self.library, self.keep = library, None
        work, pace, samples = map(ctypes.POINTER, (MeasuredWork, SamplingPace, Samples))
        self.c.measure_gpu.argtypes = [ctypes.c_int, work, ctypes.c_void_p, pace, samples]
        self.c.measure_cpu.argtypes = [ctypes.c_int, work, pace, samples]
        self.c.measure_asked.argtypes = [work, Flag, Size, ctypes.c_int, ctypes.c_int, Numbers]
        self.c.samples_free.argtypes = [samples]
        self.rewrites = BETWEEN(("measure_rewrite_gpu" if library.on_gpu else "measure_rewrite", self.c))
        self.rested = CALL(("measure_rested", self.c))

    def rewrite(self, state):
        """Writes to the library's inputs (peer_rotation.py) what the call of that state finds."""
        self.expect_ok(self.rewrites(self.stream(), state, False))

    def stream(self):
        return self.library.stream() if self.library.on_gpu else None

    def work(self, run, rotation, raised, kept):
        """What is timed. What run() and rotation (peer_rotation.py) raise comes into raised, results come into kept[0]."""
        library, disable = self.library, gc.disable

        def guarded(work):
            try:
                work()
                return 0
            except BaseException as error:  # it must not cross the C code
                raised.append(error)
                return FAILED

        def call():
            kept[0] = run()  # the result of the call before is released: its memory serves the next one
            disable()  # what allocates next, outside the clock, would call what garbage has at its end

        def before(place):
            rotation.before(place)
            library.wait()

        def called(_):
            return guarded(call)

        def prepared(_, place):
            return guarded(lambda: before(place.contents))

        def taken(_, place):
            return guarded(lambda: rotation.taken(place.contents, kept[0]))

        if self.keep:
            self.keep(called, prepared, taken)
        work = MeasuredWork(CALL(called), rested=self.rested, last=bool(rotation) and not library.on_gpu)
        if rotation:
            work.before, work.taken = BEFORE(prepared), TAKEN(taken)
            if rotation.rewrites:
                work.between, work.between_context = self.rewrites, self.stream()
            else:
                work.after = CALL(lambda _: 0)  # a sample is one call
        return work

    def asked(self, run, cold, calls, pipes, rotation):
        """The last of so many calls, which the parent times; 0: none. -> (its result, its seconds). Garbage is not collected from then on."""
        raised, kept, seconds = [], rotation.kept, ctypes.c_double()
        status = self.c.measure_asked(self.work(run, rotation, raised, kept), cold, calls, *pipes, seconds)
        if raised:
            raise raised[0]
        self.expect_ok(status)
        return kept[0], seconds.value

    def time(self, mode, run, limits, rotation=None):
        """One mode as the protocol's reply has it. What run() and rotation raise is raised here."""
        raised, enable, out = [], gc.enable, Samples()
        work = self.work(run, rotation, raised, [None])
        keys = (wire.KEY_MIN_SAMPLES, wire.KEY_MAX_SAMPLES, wire.KEY_SECONDS)
        bounds = SamplingPace(*(limits[key] for key in keys), limits.get(wire.KEY_PRECISION, 0))
        number = ctypes.c_int()
        self.c.mode_parse(mode.encode(), ctypes.byref(number))
        status = (
            self.c.measure_gpu(number, work, self.stream(), bounds, out)
            if self.library.on_gpu
            else self.c.measure_cpu(number, work, bounds, out)
        )
        enable()
        if raised:
            raise raised[0]
        self.expect_ok(status)
        try:
            return as_reply(out)
        finally:
            self.c.samples_free(out)


def as_reply(samples):
    count = samples.count
    clocks = [mhz if mhz == mhz else None for mhz in samples.sm_mhz[:count]] if samples.sm_mhz else None
    why_none = None if count else samples.why_none.decode()
    between = {wire.KEY_BETWEEN_SECONDS: samples.between_seconds} if samples.between_seconds > 0 else {}
    stopped = {wire.KEY_STOPPED: samples.stopped.decode()} if count else {}
    return (
        between
        | stopped
        | reply(
            samples.seconds[:count] if count else [], samples.clock.decode(), why_none, clocks, samples.calls_per_sample
        )
    )


def arrays_in(kept):
    """The arrays of a result, whatever holds them."""
    if isinstance(kept, (list, tuple)):
        return [array for part in kept for array in arrays_in(part)]
    if isinstance(kept, dict):
        return arrays_in(list(kept.values()))
    return [] if kept is None else [kept]


def alike(given, expected):
    """Calls may add in another order each time; what was never computed is far off."""
    import numpy

    if given is None or expected is None or given.shape != expected.shape or given.dtype != expected.dtype:
        return given is expected
    if (given.reshape(-1).view("u1") == expected.reshape(-1).view("u1")).all():
        return True
    if given.dtype.kind != "f":
        return False
    finite = numpy.abs(expected[numpy.isfinite(expected)])
    half_the_digits = float(numpy.finfo(given.dtype).eps) ** 0.5
    return bool(
        numpy.allclose(given, expected, rtol=0, atol=half_the_digits * float(finite.max(initial=0)), equal_nan=True)
    )


def captured(library, run, fetch):
    """(replay, None), or (None, why not). Capture sees one stream: what a library launches on another runs once, while capturing, and is in no
    replay, which would then be timed without it. So the result of a replay, from poisoned memory, is compared with that of a call."""
    try:
        replay, kept = library.graph(run)
        if replay is None:
            return None, kept
        expected = fetch(run())
        library.wait()
        for array in arrays_in(kept):
            library.poison(array)
        replay()
        library.wait()
        given = fetch(kept)
    except Exception as error:  # whatever the library raises, it means that this call cannot be captured
        return None, f"could not be captured into a CUDA graph: {type(error).__name__}: {error}"[:240]
    wrong = [name for name in expected if not alike(given[name], expected[name])]
    if wrong:
        return (
            None,
            f"a replay of the CUDA graph does not give {', '.join(wrong)}: the call works on more than the stream that is captured",
        )
    return lambda: (replay(), kept)[1], None


def time_graph(engine, run, limits, fetch, rotation):
    """A replay reads the inputs where they were when it was captured, which is where the library gets those of each sample."""
    replay, why = captured(engine.library, run, fetch)
    if why:
        return reply(why_none=why)
    if rotation:
        rotation.mode = "graph"
    try:
        return engine.time("hot", replay, limits, rotation)
    finally:
        if rotation:
            rotation.mode = None


def time_modes(engine, run, command, fetch, rotation=None):
    """fetch(kept) -> the result of a call as NumPy arrays by name. rotation: peer_rotation.Rotation; None: the inputs stay, and nothing is
    compared."""
    library, timing = engine.library, {}
    for mode in command[wire.KEY_MODES]:
        if library.times_itself:
            timing[mode] = library.time(mode, run, command, rotation)
        elif mode == "graph" and library.captures:
            timing[mode] = time_graph(engine, run, command, fetch, rotation)
        else:
            timing[mode] = engine.time(mode, run, command, rotation)
    return timing
