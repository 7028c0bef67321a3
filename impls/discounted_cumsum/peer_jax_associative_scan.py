"""jax.lax.associative_scan over affine maps, jitted. Idea: a work-efficient tree by slices of even and odd places, log2 n deep. Rounding:
the factors' products are rounded level by level. Time by the host's clock: JAX has no events."""

from jax_scan import make_sums
from peer import import_jax_gpu
from scan_peers import only

VARIANT = {
    "summary": "JAX associative_scan over affine maps (host clock)",
    "origin": "JAX, jax.lax.associative_scan",
    "framework": "jax",
    "needs_gpu": True,
    "clock": "jax",
    "dtypes": ["f16", "bf16"],
}


def supports(case, tunables):
    return only(case, k=(0,))


def prepare(case, tunables, shapes):
    jax = import_jax_gpu()
    return jax.jit(make_sums(jax, case))


def run(sums, inputs):
    return sums(inputs["x"], inputs["gamma"], inputs["reset"])
