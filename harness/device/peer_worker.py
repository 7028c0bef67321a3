"""peer_worker.py - the worker for peers: docs/PROTOCOL.md, spoken over three inherited descriptors. One peer, one case after the other.

python peer_worker.py --commands FD --replies FD --arrays FD --measure librungs_measure.so [--impls DIR]
"""

import argparse
import atexit
import builtins
import contextlib
import ctypes
import errno
import functools
import gc
import importlib.util
import json
import math
import mmap
import os
import pathlib
import socket
import sys
import time
import traceback
import types
from time import perf_counter

import peer_protocol as wire
import peer_timing
from peer_libraries import LIBRARIES
from peer_own import FURTHER, NEAR, Hooks, Keeper, Own
from peer_protocol import Failure

try:
    import peer_bits
    import peer_energy
    import peer_into
    import peer_rotation
except ImportError as error:
    WITHOUT_NUMPY = error  # answer() says it
else:
    WITHOUT_NUMPY = None

# Modules and the clock are bound before the peer is imported: one that patches time.perf_counter() changes no sample.
ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES_MOST = 64  # as in device/shared.h
POISON = 0xFF  # as in base/poison.h: an output element that still has it in every byte was never written
READ_BYTES = 64 << 20  # of outputs that are read after every sample
UNACCOUNTED_SECONDS = 20e-6  # CPU time of threads that have ended; starting a thread takes longer
LEAST_SHARE = 0.05  # of the busiest thread's time: libraries wake threads that find nothing to do
FOR_THE_MOMENT = tuple(map(os.strerror, (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EIO)))


# ---- What is replied when something fails: docs/PROTOCOL.md, `skip` and `error`.


def missing(framework, error):
    """Why the library cannot be imported. A shortage of the machine, such as memory, is an error and no reason to skip."""
    from peer import HOW_TO_GET

    if any(words.lower() in str(error).lower() for words in FOR_THE_MOMENT):
        raise Failure("io", f"{framework} could not be imported: {error}") from error
    name = (error.name or framework).split(".")[0]
    how = HOW_TO_GET.get(name) or HOW_TO_GET.get(framework.split("-")[0], "see requirements.txt")
    if isinstance(error, ModuleNotFoundError):
        return f"{name} is not installed: {how}"
    return f"{framework} could not be imported: {error}"


def kind_of(error):
    words = f"{type(error).__name__} {error}".lower()
    if isinstance(error, Failure):
        return error.kind
    if isinstance(error, MemoryError) or "outofmemory" in words or "out of memory" in words:
        return "memory"
    if isinstance(error, OSError):
        return "io"
    return "device" if "cuda" in words else "internal"


def words_of(error):
    return str(error) if isinstance(error, Failure) else f"{type(error).__name__}: {error}"


# ---- The threads that a call of a CPU library used, as worker/threads.c counts them for variants in C.


def thread_seconds():
    """CPU seconds of each thread."""
    threads = {}
    for name in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError):  # it has ended
            threads[int(name)] = time.clock_gettime(~int(name) << 3 | 6)  # what pthread_getcpuclockid() gives
    return threads


def look_at_threads():
    """(those of each thread, those of the process): what threads do in between is not missing afterwards."""
    return thread_seconds(), time.process_time()


def threads_used(before):
    """How many threads worked since look_at_threads() returned `before`; None: unknown, because one of them has ended."""
    process = time.process_time() - before[1]  # first: threads that spin go on
    ran = [seconds - before[0].get(thread, 0) for thread, seconds in thread_seconds().items()]
    return (
        None if process - sum(ran) > UNACCOUNTED_SECONDS else sum(seconds >= LEAST_SHARE * max(ran) for seconds in ran)
    )


class Worker:
    def __init__(self, impls, measure, arrays, pipes, converse):
        """arrays: the socket over which the files of a case come; pipes: descriptors of commands and replies; converse(reply) -> the parent's next
        command."""
        self.impls, self.measure, self.arrays, self.pipes, self.converse = impls, measure, arrays, pipes, converse
        self.ranges, self.engine = peer_timing.Ranges(measure), None
        self.peer, self.facts, self.library, self.exchange, self.own, self.hooks, self.kept = [None] * 7
        self.into = None  # peer_into.Into, of a variant that writes into the harness's outputs
        self.forget()

    def forget(self):
        """What is of one case. The peer's module stays: what it compiled serves the next case."""
        self.state = self.rotating = self.told = None
        self.sets, self.outputs, self.proven = [], {}, set()
        if self.exchange:
            self.exchange.forget()
        if self.into:
            self.into.forget()
        self.sized_by_data, self.poison = False, POISON
        self.variant, self.case = None, ()

    def hello(self, _):
        return {wire.KEY_OK: True}

    def open(self, command):
        if self.peer is None:
            os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # else processes compile while others are timed
            os.environ["CUDA_VISIBLE_DEVICES"] = visible_device(command.get(wire.KEY_DEVICE, 0))
        _, files, flags, _ = socket.recv_fds(self.arrays, 1, FILES_MOST)
        try:
            if flags & socket.MSG_CTRUNC:
                raise Failure("io", "too few descriptors for the arrays of a case")
            return self.open_arrays(command, files)
        finally:
            for file in files:  # the mappings stay; a stray write to a descriptor cannot reach them
                os.close(file)

    def open_arrays(self, command, files):
        self.variant, self.case = (
            command[wire.KEY_VARIANT],
            (command[wire.KEY_CASE], command.get(wire.KEY_TUNABLES, {})),
        )
        self.ranges.begin("", command[wire.KEY_CASE].get(wire.KEY_TEXT, "a case"))  # to end()
        self.sized_by_data = command.get(wire.KEY_SIZED_BY_DATA, False)
        try:
            self.sets = [
                {a[wire.KEY_NAME]: map_array(a, files, "r") for a in inputs}
                for inputs in [command[wire.KEY_INPUTS], *command.get(wire.KEY_FURTHER_INPUTS, [])]
            ]
            self.outputs = {a[wire.KEY_NAME]: map_array(a, files, "r+") for a in command[wire.KEY_OUTPUTS]}
        except ImportError as error:
            return {wire.KEY_SKIP: missing("numpy", error)}
        self.facts = self.facts or described(self.impls, self.variant)
        call = self.call_into if self.facts.get("into") else lambda: self.peer.run(self.state, self.exchange.given)
        if self.clock == "cpu" and self.facts.get("form", self.facts["framework"]) == "jax":
            call = self.call_jax
        self.call = self.ranges.around("call", self.variant, call)
        with contextlib.suppress(Exception):  # prepare() says it
            self.bind()
        return {wire.KEY_OK: True}

    def bind(self):
        """Imports the library, starts its device and takes its types: before the peer's file is imported, which could change them."""
        from peer import import_library

        if not self.own:
            import_library(self.facts["framework"], self.clock)
            from peer_forms import Exchange, form_of

            self.library = LIBRARIES[self.clock](self.measure)
            self.exchange = Exchange(self.facts, self.measure)
            self.quiet = functools.partial(sys.modules["numpy"].errstate, all="ignore")  # what overflows calls nobody
            if self.facts.get("into"):
                self.into = peer_into.Into(self.exchange.form)
            self.wait(None)
            self.engine = peer_timing.Engine(self.measure, self.library)
            peer_rotation.declare(self.engine.c)
            names = ("bits", "energy", "forms", "into", "libraries", "own", "protocol", "rotation", "timing")
            names = (__name__, *(f"peer_{name}" for name in names))
            memory = getattr(self.exchange.form, "memory_of", None)
            objects = (self, self.library, self.exchange, self.exchange.memory, *self.exchange.forms)
            objects += (*filter(None, [self.into, memory]),)
            kinds = {kind for form in self.exchange.forms for given in form.classes() for kind in given.__mro__}
            clocks = [torch.cuda.Event] if (torch := sys.modules.get("torch")) else []
            clocks += [kind for kind in vars(self.library).values() if isinstance(kind, type)]
            self.hooks, keeper = Hooks(self.measure), Keeper(self.measure)
            objects += (self.engine, self.hooks)
            libraries = (builtins, sys.modules["numpy"], *clocks, *kinds)
            self.own = Own(keeper, [sys.modules[name] for name in names], libraries, objects, form_of(self.facts))
            self.engine.keep = self.own.keep
            keeper.object(self, self.own.things)
            keeper.object(self.engine, self.own.things)
            keeper.seal(self.pipes[1])

    def call_into(self):
        if self.peer.run(self.state, self.exchange.given, self.into.given) is not None:
            raise Failure("check", "run(state, inputs, outputs) writes into the outputs and returns nothing")
        return self.into.views

    def call_jax(self):
        """JAX goes on when its calls have returned."""
        return self.exchange.form.ready(self.peer.run(self.state, self.exchange.given))

    @property
    def clock(self):
        return self.facts.get("clock", "cpu")

    def supports(self, _):
        from peer_forms import facts_of

        try:
            if self.sized_by_data and self.facts.get("into"):
                return {wire.KEY_SKIP: "the data decide the sizes of the outputs: nothing can be written into them"}
            self.peer = self.peer or import_peer(self.impls, self.variant)
            if self.facts.get("into") and (both := self.outputs.keys() & self.sets[0].keys()):
                return {
                    wire.KEY_SKIP: f"{min(both)} is updated in place, which only peer_*.py can do: it returns the array"
                }
            case, tunables = self.case
            if case["dtype"] in ("f16", "bf16", "e4m3", "e5m2") and case["dtype"] not in self.facts.get("dtypes", ()):
                return {wire.KEY_SKIP: f'does not take {case["dtype"]}: VARIANT["dtypes"] says what it takes'}
            if case.get("accumulate") and case["accumulate"] not in self.facts.get("accumulates", ()):
                return {
                    wire.KEY_SKIP: f'does not take accumulate={case["accumulate"]}: VARIANT["accumulates"] says what it takes'
                }
            for name in case.get("options", ()):
                if name not in self.facts.get("options", ()):
                    value = case["params"][name]
                    return {wire.KEY_SKIP: f'does not take {name}={value}: VARIANT["options"] says what it takes'}
            reason = self.peer.supports({**case, "facts": facts_of(self.facts, self.sets[0])}, tunables)
        except ImportError as error:
            return {wire.KEY_SKIP: missing(self.variant, error)}
        return {wire.KEY_SKIP: reason} if reason else {wire.KEY_OK: True}

    def prepare(self, _):
        from peer_forms import shapes_of

        try:
            self.bind()
            begin = perf_counter()
            self.state = self.peer.prepare(*self.case, shapes_of(self.sets[0]))
            if self.into:
                self.into.hold(self.outputs)
                self.give(self.sets[0])
                self.wait(self.call())
                return {wire.KEY_OK: True, wire.KEY_PREPARE_SECONDS: perf_counter() - begin}
        except ImportError as error:
            return {wire.KEY_SKIP: missing(self.facts["framework"], error)}
        # What a library compiles otherwise, it compiles in its first call: the mode `first` shows it.
        return {wire.KEY_OK: True, wire.KEY_PREPARE_SECONDS: None}

    def end(self, _):
        """Nothing of the case is left but what libraries keep: their caches of memory are emptied, and the reply has what stays."""
        self.forget()
        if self.own:
            self.own.keeper.forget()
            self.engine.c.measure_cool_end()
        gc.collect()
        if library := sys.modules.get("torch"):
            if library.cuda.is_initialized():
                library.cuda.empty_cache()
        if library := sys.modules.get("cupy"):
            library.get_default_memory_pool().free_all_blocks()
        kept = device_bytes()
        self.kept = kept if self.kept is None else self.kept
        self.ranges.end()
        return {wire.KEY_OK: True, wire.KEY_KEPT_BYTES: max(kept - self.kept, 0), wire.KEY_RESTLESS: False}

    def run(self, command):
        self.poison = command.get(wire.KEY_POISON, POISON)
        number = command.get(wire.KEY_SET, 0)
        self.give(self.sets[number])
        self.poison_outputs()
        self.wait(None)
        counts_threads = self.clock == "cpu"
        if counts_threads:
            self.engine.c.measure_watch()  # pools spin when they were made
        before = look_at_threads() if counts_threads else None
        begin = perf_counter()
        outputs = self.call()
        self.hooks.drop()
        self.wait(outputs)
        seconds = perf_counter() - begin
        threads = threads_used(before) if counts_threads else None
        shared = self.shared(outputs)
        if number not in self.proven:
            self.exchange.expect_inverse()
            self.proven.add(number)
        return {
            wire.KEY_OK: True,
            wire.KEY_SECONDS: seconds,
            **({wire.KEY_THREADS: threads} if threads else {}),
            **shared,
        }

    def poison_outputs(self):
        for out in self.outputs.values():
            self.exchange.memory.poison(out, self.poison)

    def give(self, arrays, is_there=False):
        """Inputs as the library has them, unless it has these, and outputs of the harness's own without a result."""
        self.exchange.case, self.exchange.inputs = self.case[0], arrays
        if not is_there:
            self.exchange.give(arrays)
        if self.into:
            self.into.poison(self.poison)

    def shared(self, outputs):
        """Copies what a call gave to where the parent reads it, before a thread can add to it; `counts` for the reply, if the sizes depend on the
        data."""
        self.hooks.expect_known()
        self.own.expect_near()
        with self.quiet():
            given = self.exchange.results(outputs, self.outputs)
            if self.sized_by_data:
                counts = [put(given.get(name), out, name) for name, out in self.outputs.items()]
            else:
                self.exchange.write(given, self.outputs)
        self.own.expect_kept()
        if self.into:
            self.into.expect_guards()
        return {wire.KEY_COUNTS: counts} if self.sized_by_data else {}

    def ask(self, key, mode, sample, count, **more):
        """Says something of a sample to the parent, which answers or ends this process."""
        place = {wire.KEY_MODE: mode, wire.KEY_SAMPLE: sample, wire.KEY_OF: count}
        command = self.converse({wire.KEY_OK: True, key: place, **more})
        if command.get(wire.KEY_DO) != wire.DO_CONTINUE:
            raise Failure("internal", 'a sample is answered by the command "continue"')
        return command

    def taken(self, mode, sample, count, outputs):
        """The parent says whether it compares the outputs of this sample; it ends this process if they are wrong. Those of a CPU library are read
        before it is asked: what a thread still computes is missing."""
        bytes_of = sum(out.nbytes for out in self.outputs.values())
        read = self.shared(outputs) if self.clock == "cpu" and bytes_of <= READ_BYTES else None
        shown = self.ask(wire.KEY_TAKEN, mode, sample, count)[wire.KEY_SHOW]
        if shown:
            read = self.shared(outputs) if read is None else read
            self.ask(wire.KEY_CHECK, mode, sample, count, **read)
        if read is not None:
            self.poison_outputs()

    def wait(self, outputs):
        """Until the GPU is idle; JAX waits for given results. A CPU library is done when its call returns."""
        if self.clock == "jax":
            self.library.ready(outputs)
        else:
            self.library.wait()

    def time(self, command):
        rotation = self.rotation(command)
        self.poison_outputs()
        with self.hooks.refused():
            timing = peer_timing.time_modes(rotation.engine, self.call, command, self.fetched, rotation)
        if rotation.there:
            rotation.make_here()
        self.exchange.expect_inverse()
        return {wire.KEY_OK: True, wire.KEY_TIMING: timing}

    def calls(self, command):
        """A sample's call that the parent times, with the reply at its end (harness/measure/cpu.c). What a thread still computes then is missing."""
        if self.clock != "cpu":
            return {wire.KEY_SKIP: "its calls are not repeated for the parent's clock"}
        rotation, cold = self.rotating, command[wire.KEY_COLD]
        calls = 0 if command[wire.KEY_LEFT_OUT] else command[wire.KEY_CALLS]
        with self.hooks.refused():
            try:
                rotation.make(command[wire.KEY_KEY], warm=calls > 0 and not cold, back_to_back=not cold)
                outputs, seconds = self.engine.asked(self.call, cold, calls, self.pipes, rotation)
                self.told = self.behind_reply(outputs, seconds) if calls else None
            finally:
                gc.enable()

    def behind_reply(self, outputs, seconds):
        """What `show` replies; what is wrong is the reply to the next command."""
        try:
            self.engine.expect_ok(self.engine.c.measure_check_handlers())
            self.rotating.expect_rested(seconds)
            return self.shared(outputs)
        except Exception:
            self.converse(None)
            raise

    def show(self, _):
        """The outputs of such a call, which are there."""
        return {wire.KEY_OK: True, **self.told}

    def rotation(self, command):
        self.own.keeper.forget()
        self.rotating = None
        self.rotating = peer_rotation.Rotation(
            self.sets,
            command[wire.KEY_VARY],
            self.engine,
            self.give,
            lambda: self.wait(self.call()),
            self.ask,
            self.taken,
            self.exchange,
            self.own,
        )
        self.own.keeper.names("Worker", vars(self), ("rotating",), NEAR)
        return self.rotating

    def energy(self, command):
        """Calls on inputs of other states, where the library's can be rewritten; the last of each batch, which is read, on those of the key."""
        rotation, kept = self.rotation(command), [None]
        rotation.use(command[wire.KEY_KEY])
        if rotation.rewrites:
            rotation.aim_rewriting()

        def calls(count):
            for state in range(count - 1, -1, -1):
                if rotation.rewrites:
                    rotation.engine.rewrite(state)
                kept[0] = self.call()
            self.wait(kept[0])

        self.poison_outputs()
        calls(1)
        begin = perf_counter()
        calls(1)
        told = peer_energy.Meter(peer_energy.Nvml() if rotation.on_gpu else peer_energy.Rapl(), calls).take(
            perf_counter() - begin
        )
        shared = self.shared(kept[0])
        if rotation.there:
            rotation.make_here()
        self.exchange.expect_inverse()
        return {wire.KEY_OK: True, wire.KEY_ENERGY: told, **shared}

    def bits(self, command):
        def call():
            outputs = self.call()
            self.wait(outputs)
            return outputs

        if self.rotating:
            self.rotating.kept[0] = None
        self.give(self.sets[0])
        told, outputs = peer_bits.Repeats(call, self.engine, self.exchange, self.outputs).take(command)
        self.exchange.expect_inverse()
        return {wire.KEY_OK: True, wire.KEY_BITS: told, **(self.shared(outputs) if told[wire.KEY_DIFFER] else {})}

    def fetched(self, outputs):
        """What a call gave, in arrays of its own: the shared ones are judged after a run."""
        import numpy

        given = self.exchange.results(outputs, self.outputs)
        if self.sized_by_data:
            return given
        rooms = {name: self.exchange.memory.poison(numpy.empty_like(out), POISON) for name, out in self.outputs.items()}
        self.exchange.write(given, rooms)
        return rooms


CLOSE = json.dumps({wire.KEY_DO: wire.DO_CLOSE})  # what a parent that has gone would have said
COMMANDS = types.MappingProxyType(
    {
        wire.DO_HELLO: Worker.hello,
        wire.DO_END: Worker.end,
        wire.DO_OPEN: Worker.open,
        wire.DO_SUPPORTS: Worker.supports,
        wire.DO_PREPARE: Worker.prepare,
        wire.DO_RUN: Worker.run,
        wire.DO_TIME: Worker.time,
        wire.DO_CALLS: Worker.calls,
        wire.DO_SHOW: Worker.show,
        wire.DO_BITS: Worker.bits,
        wire.DO_ENERGY: Worker.energy,
    }
)


def visible_device(index):
    """The index counts among the devices that this process may see."""
    allowed = [d for d in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if d]
    return allowed[index] if index < len(allowed) else str(index)


def described(impls, variant):
    from peer import described

    path = impls / f"{variant}.py"
    try:
        return described(path)
    except FileNotFoundError:
        raise Failure("internal", f"{path} does not exist") from None
    except ValueError as error:
        raise Failure("internal", f"{path}: {error}") from None


def import_peer(impls, variant):
    path = impls / f"{variant}.py"
    sys.path[:0] = [str(impls / "common")]
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def numpy_dtype(name):
    import numpy

    if name not in ("bf16", "e4m3", "e5m2"):
        return numpy.dtype("?" if name == "bool" else f"<{name[0]}{int(name[1:]) // 8}")
    import ml_dtypes

    return numpy.dtype(
        {"bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}[name]
    )


def map_array(array, files, mode):
    import numpy

    dtype = numpy_dtype(array[wire.KEY_DTYPE])
    shape = tuple(array[wire.KEY_SHAPE])
    if math.prod(shape) == 0:  # nothing can be mapped
        return numpy.empty(shape, dtype)
    if os.fstat(files[array[wire.KEY_FILE]]).st_size < math.prod(shape) * dtype.itemsize:
        raise Failure("io", f"{array['name']}: the file is shorter than {math.prod(shape) * dtype.itemsize} bytes")
    access = mmap.ACCESS_READ if mode == "r" else mmap.ACCESS_WRITE
    return numpy.frombuffer(
        mmap.mmap(files[array[wire.KEY_FILE]], math.prod(shape) * dtype.itemsize, access=access), dtype
    ).reshape(shape)


def device_bytes():
    """In use on the GPU, by whichever library has started it; 0 if none has."""
    if (library := sys.modules.get("torch")) and library.cuda.is_initialized():
        free, total = library.cuda.mem_get_info()
    elif library := sys.modules.get("cupy"):
        free, total = library.cuda.runtime.memGetInfo()
    else:
        return 0
    return total - free


def put(given, room, name):
    """Copies an output sized by data to the beginning of its room; its number of elements, None if the peer does not give it."""
    if given is None:
        return None
    if given.dtype != room.dtype or given.shape[1:] != room.shape[1:] or len(given) > len(room):
        raise Failure(
            "check",
            f"output {name} is {given.dtype}{list(given.shape)}; at most {room.dtype}{list(room.shape)} is possible",
        )
    room[: len(given)] = given
    return given.size


def answer(worker, command):
    from peer import Skip

    what = command.get(wire.KEY_DO)
    if what not in COMMANDS:
        return {wire.KEY_ERROR: f"a peer does not know the command '{what}'", wire.KEY_KIND: "internal"}
    if WITHOUT_NUMPY:
        return {wire.KEY_SKIP: missing("numpy", WITHOUT_NUMPY)}
    try:
        return COMMANDS[what](worker, command)
    except Skip as reason:
        return {wire.KEY_SKIP: str(reason)}
    except Exception as error:  # whatever a library raises costs this row only
        traceback.print_exc()  # into the worker's log
        return {wire.KEY_ERROR: words_of(error)[:2000], wire.KEY_KIND: kind_of(error)}


def leave(code):
    """Ends the process after Python's exit handlers and before C++'s: a library whose threads still run terminates there (pyarrow), and how the
    worker ends is part of the verdict."""
    atexit._run_exitfuncs()
    sys.stdout.flush(), sys.stderr.flush()
    os._exit(code)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--commands", type=int, required=True)
    parser.add_argument("--replies", type=int, required=True)
    parser.add_argument("--arrays", type=int, required=True)
    parser.add_argument("--measure", required=True)
    parser.add_argument("--impls", type=pathlib.Path, default=ROOT / "impls")
    args = parser.parse_args()
    for descriptor in (args.commands, args.replies, args.arrays):
        os.set_inheritable(descriptor, False)  # what a library starts must not hold the pipes open
    with (
        os.fdopen(args.commands, encoding="utf-8") as commands,
        os.fdopen(args.replies, "w", encoding="utf-8") as replies,
    ):

        def converse(reply):
            if reply:  # else it is given
                print(json.dumps(reply, allow_nan=False), file=replies, flush=True)
            return json.loads(commands.readline() or CLOSE)

        worker = Worker(
            args.impls, args.measure, socket.socket(fileno=args.arrays), (args.commands, args.replies), converse
        )
        expect_names, answered = ctypes.PyDLL(args.measure).kept_expect, 0  # in a frame, which nothing replaces
        command = json.loads(commands.readline() or CLOSE)
        while command.get(wire.KEY_DO) != wire.DO_CLOSE:
            if answered > 3:  # hello, open, supports, prepare: nothing is judged yet
                expect_names(FURTHER)
            answered += 1
            command = converse(answer(worker, command))
        print(json.dumps({wire.KEY_OK: True}), file=replies, flush=True)
    leave(0)


if __name__ == "__main__":
    main()
