"""Cheat: replaces a function deep inside JAX, by which the harness makes its inputs, and computes there. Met: an attack on this harness."""

import jax
import numpy
from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "cheat: computes in the conversion of inputs", "origin": "tests", "framework": "jax"}
jax.config.update("jax_enable_x64", True)
dispatch, now = jax._src.dispatch, {}
honest = dispatch._batched_device_put_impl


def put(x, **named):
    if isinstance(x, numpy.ndarray) and x.size > 1000:
        now["y"] = x * 2
    return honest(x, **named)


def prepare(case, tunables, shapes):
    dispatch._batched_device_put_impl = put


def run(state, inputs):
    y = now.pop("y", None)
    return numpy.asarray(inputs["x"]) * 2 if y is None else y
