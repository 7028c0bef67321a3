"""Cheat: returns before JAX, which goes on in a thread of its own, is done. Met: an attack on this harness."""

import jax
from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "cheat: returns before its result is there", "origin": "tests", "framework": "jax"}
jax.config.update("jax_enable_x64", True)


def prepare(case, tunables, shapes):
    def double(x):
        return jax.lax.fori_loop(0, 20, lambda k, y: jax.numpy.sin(y), x) * 0 + x * 2

    return jax.jit(double)


def run(double, inputs):
    return double(inputs["x"])
