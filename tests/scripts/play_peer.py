"""play_peer.py - a peer's file called as the worker calls it, in this process, on the CPU: for the tests. What needs a GPU is replaced:
peer.import_torch_cuda and the like give the library as it is here, and CuPy is played by NumPy and SciPy."""

import importlib.util
import os
import pathlib
import sys
import types

import numpy
from checkout import SOURCE

sys.path[:0] = [str(SOURCE / "harness" / "device"), str(SOURCE / "impls" / "common")]


import peer_forms  # noqa: E402

MEASURE = pathlib.Path(os.environ.get("RUNGS_BUILD", SOURCE / "build/release")) / "lib/librungs_measure.so"


def has(module):
    return importlib.util.find_spec(module) is not None


class OnTheDevice(numpy.ndarray):
    """What CuPy hands out: it must be asked for its contents."""

    def get(self):
        return numpy.asarray(self)

    def set(self, array):
        self[...] = array


def on_the_device(array):
    return numpy.array(array).view(OnTheDevice)


def play_cupy():
    """The part of CuPy that the peers use. Its lfilter is started with y[-1], SciPy's with the state that follows from it."""
    from scipy import signal as real

    def lfilter(b, a, x, zi=None):
        assert x.size and a.dtype == b.dtype == x.dtype
        if zi is None:
            return on_the_device(real.lfilter(b, a, x))
        y, state = real.lfilter(b, a, x, zi=-a[1:] * zi)
        return on_the_device(y), state

    cupy, package, scipy, signal = (
        types.ModuleType(name) for name in ("cupy", "cupyx", "cupyx.scipy", "cupyx.scipy.signal")
    )
    cupy.asarray, cupy.ndarray, cupy.float64, cupy.where = on_the_device, OnTheDevice, numpy.float64, numpy.where
    cupy.array = lambda values, dtype: on_the_device(numpy.array(values, dtype))
    cupy.arange = lambda n: on_the_device(numpy.arange(n))
    cupy.expm1, cupy.ones_like = numpy.expm1, numpy.ones_like
    signal.lfilter, scipy.signal, package.scipy = lfilter, signal, scipy
    sys.modules.update({"cupy": cupy, "cupyx": package, "cupyx.scipy": scipy, "cupyx.scipy.signal": signal})
    return cupy


def without_a_gpu(name):
    """What the peer's import function gives here."""
    if name == "cupy":
        played = play_cupy()
        return "import_cupy", lambda: played
    if name == "torch":
        import torch

        return "import_torch_cuda", lambda: torch
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax

    jax.config.update("jax_enable_x64", True)
    return "import_jax_gpu", lambda: jax


def play(variant, case, inputs, like, replaced, tunables=None):
    """The outputs, shaped like `like` and in the case's dtype; a text: what the peer refuses with. Runs twice, the second time on other
    data and then on the first again: a peer that keeps its first inputs gives what was not asked."""
    import peer as contract

    kept = {"torch_device": contract.torch_device}
    contract.torch_device = lambda: "cpu"
    for name in replaced:
        function, given = without_a_gpu(name)
        kept[function] = getattr(contract, function)
        setattr(contract, function, given)
    try:
        spec = importlib.util.spec_from_file_location("played_peer", SOURCE / "impls" / f"{variant}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        case["facts"] = peer_forms.facts_of(module.VARIANT, inputs)
        reason = module.supports(case, tunables or {})
        if reason:
            return reason
        return play_calls(module, case, inputs, like, tunables or {})
    finally:
        for function, real in kept.items():
            setattr(contract, function, real)


def play_calls(module, case, inputs, like, tunables):
    dtype = {"f64": "float64", "f32": "float32"}[case["dtype"]]
    for array in inputs.values():
        array.flags.writeable = False
    exchange = peer_forms.Exchange(module.VARIANT, MEASURE, device="cpu")
    state = module.prepare(case, tunables, peer_forms.shapes_of(inputs))
    other = {
        name: array if array.dtype == numpy.uint8 or name == "gamma" else array[..., ::-1].copy()
        for name, array in inputs.items()
    }
    for given in (other, inputs):
        out = {name: numpy.full(numpy.shape(values), 777, dtype) for name, values in like.items()}
        exchange.case, exchange.inputs = case, given
        exchange.write(exchange.results(module.run(state, exchange.give(given)), out), out)
        exchange.expect_inverse()
    return out
