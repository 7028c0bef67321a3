"""The peers and their worker: drives peer_worker.py over pipes with arrays in shared memory, as the program does, and compares with
plain NumPy. Numba's CUDA kernels run in Numba's own simulator. What a machine lacks is checked to be a skip that says so."""

import ctypes
import hashlib
import importlib.machinery
import importlib.util
import json
import math
import os
import pathlib
import queue
import socket
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest.mock

SOURCE = pathlib.Path(os.environ.get("RUNGS_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
WORKER = SOURCE / "harness" / "device" / "peer_worker.py"
MEASURE = pathlib.Path(os.environ["RUNGS_BUILD"]) / "lib" / "librungs_measure.so"
DTYPES = {"f64": "float64", "f32": "float32"}
GPU_FRAMEWORKS = {
    "peer_cupy": "cupy",
    "peer_torch_cumsum": "torch",
    "peer_torch_pool": "torch",
    "peer_numba_cuda_naive": "numba",
    "peer_numba_cuda_shared": "numba",
    "peer_numba_cuda_tile": "numba",
}

try:
    import numpy
except ImportError:
    print("SKIP: NumPy is not installed")
    sys.exit(77)

sys.path.append(str(WORKER.parent))
import peer_worker  # noqa: E402
import pytest
from program import call, expect, rows_of


def has(module):
    return importlib.util.find_spec(module) is not None


def reference(case, x):
    """The definition, one window at a time, in float64."""
    p, w = case["params"], case["params"]["window"]
    compute = {
        "mean": numpy.mean,
        "sum": numpy.sum,
        "min": numpy.min,
        "max": numpy.max,
        "var": lambda v: numpy.var(v, ddof=1) if w > 1 else math.nan,
        "std": lambda v: numpy.std(v, ddof=1) if w > 1 else math.nan,
    }
    y = numpy.full(x.size, math.inf if p["incomplete"] == "inf" else math.nan)
    with numpy.errstate(all="ignore"):
        for i in range(w - 1, x.size):
            y[i] = compute[p["agg"]](x[i - w + 1 : i + 1].astype("float64"))
    return y


class Session:
    """One worker, as the program starts it."""

    def __init__(self, impls=None, environment=None):
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        self.files = [os.memfd_create("x"), os.memfd_create("y")]
        self.log = tempfile.TemporaryFile("w+")
        self.arrays, theirs = socket.socketpair()
        argv = [
            sys.executable,
            str(WORKER),
            "--commands",
            str(theirs_in),
            "--replies",
            str(theirs_out),
            "--arrays",
            str(theirs.fileno()),
            "--measure",
            str(MEASURE),
        ]
        self.child = subprocess.Popen(
            argv + (["--impls", str(impls)] if impls else []),
            pass_fds=[theirs_in, theirs_out, theirs.fileno()],
            stdout=self.log,
            stderr=self.log,
            env={**os.environ, **(environment or {})},
        )
        os.close(theirs_in), os.close(theirs_out), theirs.close()
        self.commands, self.replies = os.fdopen(ours_out, "w"), os.fdopen(ours_in)

    def ask(self, **command):
        print(json.dumps(command), file=self.commands, flush=True)
        line = self.replies.readline()
        if not line:
            self.log.seek(0)
            raise AssertionError("the worker died: " + self.log.read()[-2000:])
        return json.loads(line, parse_constant=lambda word: self.strict(word))

    def time(self, shows=(), **command):
        """Samples, as the parent that finds every output right asks for them; and what the worker said of those in `shows`: (mode, sample)."""
        reply, said, key = self.ask(do="time", vary=[1], **command), [], 0
        while "timing" not in reply:
            if "next" in reply:
                key += 1
                reply = self.ask(do="continue", key=key)
            elif "taken" in reply:
                taken = reply["taken"]
                reply = self.ask(do="continue", show=(taken["mode"], taken["sample"]) in shows)
            else:
                said.append(reply["check"])
                reply = self.ask(do="continue")
        return reply["timing"], said

    @staticmethod
    def strict(word):
        raise AssertionError(f"{word} is no JSON")

    def write(self, x):
        os.ftruncate(self.files[0], x.nbytes), os.ftruncate(self.files[1], x.nbytes)
        os.pwrite(self.files[0], x.tobytes(), 0)

    def open(self, variant, case, n, tunables=None):
        arrays = [
            {"name": name, "dtype": case["dtype"], "shape": [n], "file": number} for number, name in enumerate("xy")
        ]
        socket.send_fds(self.arrays, [b"\0"], self.files)
        reply = self.ask(
            do="open",
            device=0,
            variant=variant,
            tunables=tunables or {},
            case=case,
            inputs=arrays[:1],
            outputs=arrays[1:],
        )
        for what in ("supports", "prepare"):
            reply = self.ask(do=what) if "ok" in reply else reply
        return reply

    def read(self, dtype, n):
        return numpy.frombuffer(os.pread(self.files[1], n * numpy.dtype(dtype).itemsize, 0), dtype)

    def close(self):
        reply = self.ask(do="close")
        code = self.child.wait(30)
        self.abandon()
        return reply, code

    def abandon(self):
        for stream in (self.commands, self.replies, self.arrays, self.log):
            stream.close()
        for fd in self.files:
            os.close(fd)
        self.child.wait(30)


def make_case(agg, n, window, dtype="f64", incomplete="nan"):
    params = {"agg": agg, "n": n, "window": window, "incomplete": incomplete}
    return {
        "text": f"rolling agg={agg} n={n} window={window}",
        "op": "rolling",
        "params": params,
        "dtype": dtype,
        "input": "normal",
        "seed": 7,
    }


FUNCTIONS = (
    "def supports(case, tunables): return None\ndef prepare(case, tunables, shapes): return None\n"
    "def run(state, inputs): {run}\n"
)


class Peers:
    def __init__(self, folder):
        self.folder, self.sessions = folder, []

    def end(self):
        for session in self.sessions:
            if session.child.poll() is None:
                session.child.kill()
            if not session.commands.closed:
                session.abandon()

    def session(self, **options):
        self.sessions.append(Session(**options))
        return self.sessions[-1]

    def compare(self, variant, case, x, tunables=None, environment=None):
        """Opens, runs, runs again on other inputs, closes; both outputs must be right."""
        session = self.session(environment=environment)
        session.write(x)
        reply = session.open(variant, case, x.size, tunables)
        assert reply == {"ok": True, "prepare_seconds": None}
        tolerance = 1e-9 if case["dtype"] == "f64" else 2e-5
        for data in (x, x[::-1] + x.dtype.type(1)):
            session.write(numpy.ascontiguousarray(data))
            reply = session.ask(do="run")
            assert "ok" in reply, reply
            assert reply["seconds"] > 0
            actual = session.read(DTYPES[case["dtype"]], x.size)
            numpy.testing.assert_allclose(
                actual, reference(case, data), rtol=tolerance, atol=tolerance, err_msg=f"{variant} {case['text']}"
            )
            assert os.pread(session.files[0], x.nbytes, 0) == numpy.ascontiguousarray(data).tobytes(), (
                "the input was changed"
            )
        assert session.close() == ({"ok": True}, 0)

    def normal(self, n, dtype="f64"):
        return numpy.random.default_rng(3).normal(size=n).astype(DTYPES[dtype])

    def each(
        self, variant, aggregates, others=((1009, 1, "f64", "nan"), (40, 40, "f64", "inf"), (40, 41, "f32", "inf"))
    ):
        for agg in aggregates:
            self.compare(variant, make_case(agg, 1009, 30), self.normal(1009))
        for n, window, dtype, incomplete in others:
            self.compare(
                variant,
                make_case("var" if window == 1 else "mean", n, window, dtype, incomplete),
                self.normal(n, dtype),
            )

    def check_empty(self, variant):
        session = self.session()
        assert "ok" in session.open(variant, make_case("mean", 0, 4), 0)
        assert "ok" in session.ask(do="run")
        assert session.close() == ({"ok": True}, 0)

    def simulate(self, name, agg, n, window, tunables, **more):
        environment = {"NUMBA_ENABLE_CUDASIM": "1"}
        case = make_case(agg, n, window, **more)
        self.compare(f"rolling/{name}", case, self.normal(n, case["dtype"]), tunables, environment)

    def planted(self, body, framework="numpy"):
        folder = self.folder / str(len(self.sessions))
        path = folder / "rolling"
        path.mkdir(parents=True)
        (path / "peer_planted.py").write_text(f'VARIANT = {{"framework": "{framework}"}}\n' + body)
        session = self.session(impls=folder)
        session.write(self.normal(8))
        return session, session.open("rolling/peer_planted", make_case("mean", 8, 2), 8)


@pytest.fixture
def peers(folder):
    made = Peers(folder)
    yield made
    made.end()


AGGREGATES = ("mean", "sum", "var", "std", "min", "max")


@pytest.mark.skipif(not has("pandas"), reason="pandas is not installed")
def test_pandas(peers):
    peers.each("rolling/peer_pandas", AGGREGATES)


@pytest.mark.skipif(not has("bottleneck"), reason="Bottleneck is not installed")
def test_bottleneck(peers):
    peers.each("rolling/peer_bottleneck", AGGREGATES, ((40, 40, "f64", "inf"), (41, 3, "f32", "nan")))


@pytest.mark.skipif(not has("polars"), reason="Polars is not installed")
def test_polars(peers):
    peers.each("rolling/peer_polars", AGGREGATES, ((40, 40, "f64", "inf"), (40, 3, "f32", "nan")))


@pytest.mark.skipif(not has("numba"), reason="numba is not installed")
def test_numba_cpu(peers):
    peers.each("rolling/peer_numba_cpu", ("sum", "std", "max"))  # each compiles for seconds


@pytest.mark.skipif(not has("numba"), reason="numba is not installed")
def test_numba_cpu_many_batches_with_nan_and_infinity(peers):
    x = peers.normal(40001)
    x[100], x[20000], x[30000] = math.nan, math.inf, -math.inf
    for agg in ("min", "var"):
        peers.compare("rolling/peer_numba_cpu", make_case(agg, x.size, 9), x)


@pytest.mark.skipif(not has("pandas"), reason="pandas is not installed")
def test_an_empty_array(peers):
    peers.check_empty("rolling/peer_pandas")


@pytest.mark.skipif(not has("numba"), reason="numba is not installed")
def test_an_empty_array_in_numba(peers):
    peers.check_empty("rolling/peer_numba_cpu")


@pytest.mark.skipif(not has("pandas"), reason="pandas is not installed")
def test_samples(peers):
    session = peers.session()
    session.write(peers.normal(5000))
    session.open("rolling/peer_pandas", make_case("mean", 5000, 30), 5000)
    timing, shown = session.time(
        modes=["cold", "hot", "graph", "enqueue", "complete"],
        min_samples=3,
        max_samples=5,
        seconds=0.0,
        shows=[("cold", 1), ("hot", 2)],
    )
    assert shown == [{"mode": "cold", "sample": 1, "of": 3}, {"mode": "hot", "sample": 2, "of": 3}]
    assert sorted(timing) == ["cold", "complete", "enqueue", "graph", "hot"]
    for mode in ("cold", "hot"):
        assert len(timing[mode]["samples"]) == 3
        assert all(0 < s < 60 for s in timing[mode]["samples"]), timing[mode]
        assert timing[mode]["why_none"] is None
        assert timing[mode]["clock"] == "steady clock"
    for mode in ("graph", "enqueue", "complete"):
        assert timing[mode]["samples"] == []
        assert "CPU" in timing[mode]["why_none"]


@pytest.mark.skipif(not has("pandas"), reason="pandas is not installed")
def test_a_call_that_the_parent_times(peers):
    session, x = peers.session(), peers.normal(5000)
    session.write(x)
    session.open("rolling/peer_pandas", make_case("sum", 5000, 1), 5000)
    session.time(modes=["cold"], min_samples=1, max_samples=1, seconds=0.0)
    calls = {"do": "calls", "key": 5, "vary": [1]}
    for number, cold in ((1, True), (1, False), (4, False)):
        for left_out in (True, False):
            assert session.ask(**calls, calls=number, cold=cold, left_out=left_out) == {"ok": True}
            reply = session.ask(do="continue")
            assert reply["ok"] and (reply["seconds"] == 0) == left_out
        assert session.ask(do="show") == {"ok": True} and (session.read("f8", 5000) == x).all()
    assert session.ask(**calls, calls=1, cold=True, left_out=True) == {"ok": True}
    assert session.ask(do="close")["ok"], "what follows is a command again"


@pytest.mark.skipif(not has("pandas"), reason="pandas is not installed")
def test_sampling_stops_at_the_most_samples(peers):
    session = peers.session()
    session.write(peers.normal(50))
    session.open("rolling/peer_pandas", make_case("mean", 50, 3), 50)
    timing, _ = session.time(modes=["hot"], min_samples=2, max_samples=4, seconds=1e6)
    assert len(timing["hot"]["samples"]) == 4


@pytest.mark.skipif(not has("pandas"), reason="pandas is not installed")
def test_a_check_that_is_not_answered_ends_the_timing(peers):
    session = peers.session()
    session.write(peers.normal(50))
    session.open("rolling/peer_pandas", make_case("mean", 50, 3), 50)
    assert "next" in session.ask(do="time", vary=[1], modes=["hot"], min_samples=2, max_samples=2, seconds=0.0)
    assert session.ask(do="run")["kind"] == "internal"


LIMITS = {"modes": ["hot"], "min_samples": 3, "max_samples": 3, "seconds": 0.0}


def load_engine():
    """The C code that times our variants times these calls too; a GPU's part of it is tests/gpu/measure_selftest.cu."""
    sys.path[:0] = [str(SOURCE / "harness" / "device")]
    import peer_libraries
    import peer_timing

    return peer_timing, peer_timing.Engine(str(MEASURE), peer_libraries.Library())


class Found(types.ModuleType):
    """Stands for a module of a library and all that it defines. What a call gives is an object, which no peer can replace by name."""

    late = False

    def __init__(self, name):
        super().__init__(name)
        self.__path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if Found.late:
            raise AssertionError(f"{self.__name__}.{name} is looked up when the peer may have replaced it")
        return Found(f"{self.__name__}.{name}")

    def __call__(self, *given, **named):
        return unittest.mock.MagicMock()


class FinderOfFound:
    """Imports them."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] in ("torch", "cupy", "numba", "cuda", "jax", "pylibcudf"):
            return importlib.machinery.ModuleSpec(name, FinderOfFound)

    @staticmethod
    def create_module(spec):
        return Found(spec.name)

    @staticmethod
    def exec_module(module):
        pass


def test_a_library_is_asked_by_what_was_bound_before_the_peer(monkeypatch):
    load_engine()
    import peer_libraries

    for name in [name for name in sys.modules if FinderOfFound.find_spec(name)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [FinderOfFound, *sys.meta_path])
    for name, kind in peer_libraries.LIBRARIES.items():
        monkeypatch.setattr(Found, "late", False)
        library = kind(str(MEASURE))
        calls = ("wait_gpu", "free_gpu", "measure_check_handlers")
        library.c = unittest.mock.MagicMock(**{f"{call}.return_value": 0 for call in calls})
        for found in [found for found in sys.modules if FinderOfFound.find_spec(found)]:
            del sys.modules[found]
        monkeypatch.setattr(Found, "late", True)
        library.wait(), library.free_bytes()
        if hasattr(library, "sample"):
            library.sample("cold", unittest.mock.MagicMock())
        elif library.on_gpu:
            library.stream(), library.graph(unittest.mock.MagicMock())
        assert name == "cpu" or library.on_gpu


def test_an_audit_hook_is_called_until_timing_begins():
    script = """
import peer_own, sys
hooks, heard = peer_own.Hooks(), []
sys.addaudithook(lambda event, given: heard.append(event))
sys.audit("before")
with hooks.refused():
    sys.audit("within")
    try:
        sys.addaudithook(lambda event, given: heard.append(event))
    except peer_own.Failure as failure:
        print(failure)
sys.audit("after")
assert "before" in heard and not {"within", "after"} & set(heard), heard
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=WORKER.parent)
    assert done.returncode == 0 and "calls sys.addaudithook(): a hook would compute" in done.stdout, (
        done.stdout + done.stderr
    )


def test_a_sample_is_the_time_of_one_call():
    peer_timing, engine = load_engine()
    calls = []

    def run():
        calls.append(1)
        time.sleep(0.01)

    timed = peer_timing.time_modes(engine, run, LIMITS, fetch=None)["hot"]
    assert (len(timed["samples"]), timed["calls_per_sample"], timed["clock"], timed["why_none"]) == (
        3,
        1,
        "steady clock",
        None,
    )
    assert all(0.01 <= seconds < 5 for seconds in timed["samples"]), timed
    assert len(calls) >= 4  # a pilot before them


def test_short_calls_are_timed_many_at_once():
    peer_timing, engine = load_engine()
    timed = (peer_timing.time_modes(engine, lambda: None, LIMITS, fetch=None)["hot"] for _ in range(300))
    assert any(mode["calls_per_sample"] > 1 for mode in timed)  # a pilot on a busy machine may take long


def test_what_a_call_raises_comes_back():
    peer_timing, engine = load_engine()

    def run():
        raise KeyError("a library's own error")

    with pytest.raises(KeyError, match="a library's own error"):
        peer_timing.time_modes(engine, run, LIMITS, fetch=None)


def test_the_modes_are_those_of_the_program():
    _, engine = load_engine()
    known = ["cold", "hot", "graph", "enqueue", "complete"]
    numbers = [ctypes.c_int(-1) for _ in known]
    assert all(engine.c.mode_parse(mode.encode(), ctypes.byref(n)) for mode, n in zip(known, numbers, strict=True))
    assert [n.value for n in numbers] == [0, 1, 2, 3, 4]


def captured(seen, drift=0.0):
    """A library is played that doubles an array in two launches, of which a capture sees those on its stream."""
    sys.path[:0] = [str(SOURCE / "harness" / "device")]
    import peer_libraries
    import peer_timing

    x, replays = numpy.arange(1.0, 9.0), []

    class Played(peer_libraries.Library):
        captures = True

        def graph(self, run):
            kept = run()

            def replay():
                replays.append(1)
                kept[0][:] = x
                if seen == 2:
                    kept[0][:] += x + drift

            return replay, kept

        def poison(self, array):
            array.fill(numpy.nan)

    command = {"modes": ["graph"], "min_samples": 3, "max_samples": 3, "seconds": 0.0}
    fetch = lambda kept: {"y": kept[0].copy()}
    timing = peer_timing.time_modes(peer_timing.Engine(str(MEASURE), Played()), lambda: (x + x,), command, fetch)
    return timing["graph"], len(replays)


def test_a_replay_that_gives_the_result_is_timed():
    for drift in (0.0, 1e-9):  # sums in another order
        timed, replays = captured(seen=2, drift=drift)
        assert timed["why_none"] is None
        assert len(timed["samples"]) == 3
        assert replays >= 4  # one is looked at


def test_a_replay_without_all_the_work_is_not():
    timed, replays = captured(seen=1)
    assert timed["samples"] == []
    assert "does not give y" in timed["why_none"]
    assert replays == 1


# Numba's kernels in its simulator. Small: the simulator runs every thread as a Python thread.
@pytest.mark.skipif(not has("numba"), reason="numba is not installed")
def test_naive(peers):
    for agg in ("mean", "std", "max"):
        peers.simulate("peer_numba_cuda_naive", agg, 75, 5, {"threads": 32})


@pytest.mark.skipif(not has("numba"), reason="numba is not installed")
def test_shared(peers):
    for agg in ("sum", "min"):
        peers.simulate("peer_numba_cuda_shared", agg, 75, 40, {"threads": 32}, incomplete="inf")


@pytest.mark.skipif(not has("numba"), reason="numba is not installed")
def test_tile(peers):
    for agg in AGGREGATES:
        peers.simulate("peer_numba_cuda_tile", agg, 131, 6, {"threads": 32, "tile": 3})
    peers.simulate("peer_numba_cuda_tile", "mean", 131, 60, {"threads": 32, "tile": 3}, dtype="f32", incomplete="inf")


@pytest.mark.skipif(not has("numba"), reason="numba is not installed")
def test_too_much_shared_memory_is_a_skip(peers):
    session = peers.session()
    session.write(peers.normal(10000))
    reply = session.open(
        "rolling/peer_numba_cuda_tile", make_case("mean", 10000, 3074), 10000, {"threads": 64, "tile": 48}
    )
    assert "6145 elements are 49160 bytes of shared memory" in reply["skip"]


def test_gpu_peers_say_what_is_missing(peers):
    for name, framework in GPU_FRAMEWORKS.items():
        session = peers.session(environment={"CUDA_VISIBLE_DEVICES": "none"})
        session.write(peers.normal(100))
        reply = session.open(f"rolling/{name}", make_case("mean", 100, 4), 100, {"threads": 64, "tile": 48})
        assert list(reply) == ["skip"], reply
        expected = "no CUDA device" if has(framework) else f"{framework} is not installed: ./rungs installs it"
        assert expected in reply["skip"]


def test_an_aggregate_that_a_peer_does_not_know(peers):
    session = peers.session()
    session.write(peers.normal(10))
    assert session.open("rolling/peer_cupy", make_case("std", 10, 4), 10) == {
        "skip": "agg=std: this peer knows mean, min, max"
    }


def test_no_complete_window_is_no_work_for_a_library(peers):
    for name in (
        "peer_bottleneck",
        "peer_polars",
        "peer_cupy",
        "peer_torch_pool",
        "peer_torch_cumsum",
        "peer_cudf",
    ):
        session = peers.session()
        session.write(peers.normal(10))
        reply = session.open(f"rolling/{name}", make_case("mean", 10, 11), 10)
        assert reply == {"skip": "window > n: no window is complete, and this peer computes no others"}, name


def test_cudf_says_how_it_is_had(peers):
    session = peers.session(environment={"CUDA_VISIBLE_DEVICES": "none"})
    session.write(peers.normal(100))
    reply = session.open("rolling/peer_cudf", make_case("mean", 100, 4), 100)
    found = has("pylibcudf") or (SOURCE / "build/cudf/pylibcudf").is_dir()
    assert (
        "no CUDA device" if found else "pylibcudf is not installed: optional, 0.4 GB: build/python/bin/pip install"
    ) in reply.get("skip", str(reply))


def test_an_original_that_no_package_has_names_its_variable(peers):
    case = {
        **make_case("mean", 8, 2, "f32"),
        "op": "moments",
        "params": {"rows": 4, "cols": 2, "order": 4, "weights": "none", "degenerate": "nan"},
    }
    with tempfile.TemporaryDirectory() as folder:
        for value, expected in (
            ("", "not testable here: set RUNGS_ORIGINALS=DIR"),
            (folder, "statistics_cuda.cu does not exist"),
        ):
            session = peers.session(environment={"RUNGS_ORIGINALS": value})
            session.write(peers.normal(8, "f32"))
            assert expected in session.open("moments/peer_original_statistics", case, 8).get("skip", "")


def test_a_missing_library_is_a_skip(peers):
    _, reply = peers.planted(
        "def supports(case, tunables): return None\ndef prepare(case, tunables, shapes): import no_such_library\n",
        framework="json",
    )
    assert reply == {"skip": "no_such_library is not installed: see requirements.txt"}


def test_a_python_without_numpy_skips_all_libraries(tmp_path):
    python, out = tmp_path / "python", tmp_path / "rows.jsonl"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')  # without what is installed
    python.chmod(0o755)
    case = ("moments rows=97 cols=5", "--variants", "peer_*,cpu_pairwise", "--verify-only", "--out", out)
    done = call("run", *case, env={**os.environ, "RUNGS_PYTHON": str(python)})
    expect(done.returncode == 0, "no row fails", done)
    said = {row["variant"]: row["reason"] for row in rows_of(out) if row["verdict"] == "skip"}
    assert said["moments/peer_numpy"].startswith("numpy is not installed: ") and len(said) == len(rows_of(out)) - 1


def test_a_peer_that_raises_is_an_error(peers):
    for raised, kind in (
        ("ValueError('seven')", "internal"),
        ("MemoryError('eight')", "memory"),
        ("RuntimeError('CUDA error 700')", "device"),
    ):
        session, reply = peers.planted(FUNCTIONS.format(run=f"raise {raised}"))
        assert "ok" in reply
        reply = session.ask(do="run")
        assert reply["kind"] == kind
        assert raised.split("'")[1] in reply["error"]


def test_an_output_that_is_not_given_stays_poison(peers):
    session, _ = peers.planted(FUNCTIONS.format(run="return {}"))
    assert "ok" in session.ask(do="run")
    assert session.read("u1", 64).tolist() == [0xFF] * 64


@pytest.mark.parametrize(
    "gives, words",
    [
        ("0", "run() gives a builtins.int; an array of numpy is expected"),
        ("lambda: inputs['x']", "run() gives a builtins.function"),
        ("__import__('concurrent.futures').futures.Future()", "run() gives a concurrent.futures._base.Future"),
        ("inputs['x'].view(type('Mine', (type(inputs['x']),), {}))", "run() gives a rolling.Mine"),
        ("inputs['x'][:-1]", "output y is float64[7]; float64[8] is expected"),
        ("inputs['x'].astype('O')", "output y is an array of object; numbers are expected"),
        ("inputs['x'] > 0", None),
        ("{'z': inputs['x']}", "run() gives z; the outputs are y"),
        ("(inputs['x'], inputs['x'])", "run() gives 2 results; the outputs are y"),
        ("inputs['x'][None]", None),
    ],
)
def test_what_run_may_give(peers, gives, words):
    session, _ = peers.planted(FUNCTIONS.format(run=f"return {gives}"))
    reply = session.ask(do="run")
    if not words:
        assert "ok" in reply, reply
        return
    assert reply["kind"] == "check"
    assert words.replace("rolling.Mine", "Mine") in reply["error"].replace("peer_planted.Mine", "Mine"), reply


def test_a_patched_library_is_not_asked(peers):
    """What it would change is kept before its file is imported."""
    session, _ = peers.planted(
        "import numpy\nclass Mine: pass\nnumpy.ndarray = Mine\n" + FUNCTIONS.format(run="return Mine()")
    )
    assert "replaces numpy.ndarray: what the harness calls" in session.ask(do="run")["error"]


@pytest.mark.parametrize("n", [0, 1, 1000, 3_000_001])
def test_arrays_are_written_and_compared_by_all_cores(n):
    import peer_forms

    memory, x = peer_forms.Memory(MEASURE), numpy.random.default_rng(1).normal(size=n)
    for array in (x, x.astype("f4"), numpy.repeat(x, 2)[::2], x[::-1]):
        out = memory.poison(numpy.zeros(n), 0xFF)
        assert numpy.isnan(out).all()
        memory.write(array, out)
        assert (out == array).all() and memory.same_bits(out, array.astype("f8"))
        if n:
            out[n // 2] += 1
            assert not memory.same_bits(out, array.astype("f8"))
            assert memory.same_bits(out[: n // 2], array[: n // 2].astype("f8"))
    assert not memory.same_bits(numpy.zeros(n + 1), x) and not memory.same_bits(numpy.zeros(n, "f4"), numpy.zeros(n))


def test_what_the_library_has_is_what_it_was_given():
    sys.path[:0] = [str(SOURCE / "harness" / "device")]
    import peer_forms

    exchange = peer_forms.Exchange({"framework": "numpy"}, MEASURE)
    exchange.form.give = lambda array, held: array.copy()
    x = numpy.arange(8.0)
    for wrong in (
        lambda given: given * 2,
        lambda given: numpy.where(given == 7, -given, given),
        lambda given: given[:-1],
    ):
        exchange.give({"x": x})
        exchange.expect_inverse()
        exchange.given["x"] = wrong(exchange.given["x"])
        with pytest.raises(peer_worker.Failure, match="input x: what the library has is not what it was given"):
            exchange.expect_inverse()


def test_an_input_cannot_be_written(peers):
    session, _ = peers.planted(FUNCTIONS.format(run="inputs['x'][0] = 1"))
    assert "read-only" in session.ask(do="run")["error"]


def test_what_a_library_prints_does_not_reach_the_replies(peers):
    session, reply = peers.planted(
        "import os, sys\nprint('{noise', flush=True); os.write(1, b'more'); sys.stderr.write('and more')\n"
        + FUNCTIONS.format(run="print('noise', flush=True); return {}")
    )
    assert "ok" in reply
    assert "ok" in session.ask(do="run")
    assert session.close() == ({"ok": True}, 0)


def test_threads_of_a_call():
    """Those that work, not one that waits; unknown where one has ended."""
    data, workers = bytes(40_000_000), [queue.SimpleQueue() for _ in range(3)]
    done = queue.SimpleQueue()
    for work in workers:
        threading.Thread(
            target=lambda work=work: [done.put(hashlib.sha256(piece)) for piece in iter(work.get, None)],
            daemon=True,
        ).start()
    for busy in (1, 2, 3):
        before = peer_worker.look_at_threads()
        for work in workers[:busy]:
            work.put(data)
        for _ in range(busy):
            done.get()
        assert peer_worker.threads_used(before) == busy
    before = peer_worker.look_at_threads()
    ended = threading.Thread(target=hashlib.sha256, args=(data,))
    ended.start()
    while os.path.exists(f"/proc/self/task/{ended.native_id}"):
        time.sleep(0.001)
    assert peer_worker.threads_used(before) is None


def test_a_library_that_terminates_at_exit(peers):
    """As std::terminate does when a library's threads outlive its static objects."""
    session, _ = peers.planted(
        "import ctypes\nc = ctypes.CDLL(None)\nc.__cxa_atexit(c.abort, None, None)\n"
        + FUNCTIONS.format(run="return {}")
    )
    assert session.close() == ({"ok": True}, 0)


def test_an_unknown_command_and_an_unknown_peer(peers):
    session = peers.session()
    assert "'dance'" in session.ask(do="dance")["error"]
    session.write(peers.normal(4))
    assert "peer_nobody.py does not exist" in session.open("rolling/peer_nobody", make_case("mean", 4, 2), 4)["error"]
