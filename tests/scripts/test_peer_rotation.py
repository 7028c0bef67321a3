"""Where the inputs of a GPU's library are made: by harness/device/peer_rotation.py, with the host's memory in the place of the GPU's, and vary_all()
in the place of vary_gpu(), which tests/gpu/timed_selftest.cu compares."""

import ctypes
import os
import pathlib
import sys
import types

import numpy
import pytest
from checkout import SOURCE

sys.path[:0] = [str(SOURCE / "harness" / "device"), str(SOURCE / "impls" / "common")]

import peer_forms  # noqa: E402
import peer_rotation  # noqa: E402

MEASURE = pathlib.Path(os.environ.get("RUNGS_BUILD", SOURCE / "build/release")) / "lib/librungs_measure.so"
MIX, VALUE, STEPS, LEVELS, FACTORS, SHUFFLE = 1, 2, 3, 4, 5, 7  # VaryHow in base/vary.h


class OnDevice(numpy.ndarray):
    @property
    def __cuda_array_interface__(self):
        return {**self.__array_interface__, "strides": None}


class Form(peer_forms.Numpy):
    types, holds = (OnDevice,), True

    def give(self, array, held):
        if held is None:
            return numpy.array(array).view(OnDevice)
        held[...] = array
        return held

    def memory(self, given):
        return given

    def take(self, value):
        return numpy.array(value)


class Engine:
    def __init__(self, free):
        self.real, self.made_there, self.c = ctypes.CDLL(MEASURE), 0, self
        peer_rotation.declare(self.real)
        self.library = types.SimpleNamespace(on_gpu=True, wait=lambda: None, free_bytes=lambda: free)

    def __getattr__(self, name):
        return getattr(self.real, name)

    def vary_gpu(self, how, dtype, n, a, b, to, stream):
        self.made_there += 1
        self.real.vary_all(how, dtype, n, a, b, to)
        return 0

    def stream(self):
        return None

    def expect_ok(self, status):
        assert status == 0

    def rewrite(self, state):
        self.real.measure_rewrite(None, ctypes.c_size_t(state), False)


def rotation(sets, how, free=1 << 40):
    exchange = peer_forms.Exchange({"clock": "numpy", "form": "numpy"}, MEASURE)
    exchange.form = Form()
    load = lambda arrays, is_there: None if is_there else exchange.give(arrays)  # noqa: E731
    own = types.SimpleNamespace(expect_kept=lambda deep: None, keep=lambda *things: None)
    return peer_rotation.Rotation(sets, [how, 0], Engine(free), load, lambda: None, None, None, exchange, own)


def two_sets(dtype="f4"):
    random = numpy.random.default_rng(1)
    return [{"x": random.random((1000, 7)).astype(dtype), "w": random.random(500).astype(dtype)} for _ in range(2)]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("how", [MIX, VALUE, STEPS, LEVELS, FACTORS, SHUFFLE])
def test_inputs_are_made_where_the_library_has_them(how, dtype):
    sets = two_sets(dtype)
    here = rotation(sets, how)
    before = here.engine.made_there
    here.use(42)
    assert here.engine.made_there == before + 1, "on the GPU, once"
    there = here.exchange.copy("x")
    here.make_here()
    assert (there == here.arrays["x"]).all() and not (there == sets[0]["x"]).all()
    here.exchange.expect_inverse()
    assert here.rewrites


@pytest.mark.parametrize("why", ["no room", "other bits", "not held"])
def test_otherwise_they_come_from_the_host(why, monkeypatch):
    if why == "other bits":
        monkeypatch.setattr(Engine, "vary_gpu", lambda *given: 0)
    if why == "not held":
        monkeypatch.setattr(Form, "holds", False)
    here = rotation(two_sets(), SHUFFLE, free=1000 if why == "no room" else 1 << 40)
    assert not here.there
    here.use(42)
    here.exchange.expect_inverse()


def test_an_input_that_a_call_has_put_elsewhere_comes_from_the_host(monkeypatch):
    here = rotation(two_sets(), SHUFFLE)
    before = here.engine.made_there
    monkeypatch.setattr(here.exchange, "place", lambda name, on_gpu: (None, None))
    here.use(42)
    assert here.engine.made_there == before and not here.there
    here.exchange.expect_inverse()


def test_eight_bit_floats_of_pytorch():
    pytest.importorskip("torch")
    types, exchange = pytest.importorskip("ml_dtypes"), peer_forms.Exchange({"framework": "torch"}, MEASURE)
    for dtype in (types.float8_e4m3fn, types.float8_e5m2, types.bfloat16):
        exchange.forget()
        bits = numpy.arange(256, dtype="u1").view("u1").repeat(2).view(dtype)
        for array in (bits, bits[::-1].copy()):
            array.flags.writeable = False
            exchange.give({"x": array})
            exchange.expect_inverse()
            assert exchange.place("x", False)[0]


def test_no_hook_of_pytorch_sees_inputs_written():
    torch = pytest.importorskip("torch")
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Functions(TorchFunctionMode):
        def __torch_function__(self, function, types, given=(), named=None):
            seen.append(function)
            return function(*given, **(named or {}))

    class Dispatched(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, given=(), named=None):
            seen.append(function)
            return function(*given, **(named or {}))

    exchange = peer_forms.Exchange({"framework": "torch"}, MEASURE)
    given = exchange.give({"x": numpy.zeros(5)})["x"]
    given.copy_ = seen.append
    with Dispatched(), Functions():
        exchange.give({"x": numpy.ones(5)})
        exchange.place("x", False)
        exchange.expect_inverse()
        assert not seen
        assert (given + 1 == 2).all() and seen, "they are on"
    given.__class__ = type("Other", (torch.Tensor,), {})
    with pytest.raises(peer_forms.Failure, match="input x has become a Other"):
        exchange.release()
