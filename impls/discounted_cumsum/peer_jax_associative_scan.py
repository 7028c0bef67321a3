"""jax.lax.associative_scan over affine maps, jitted. Idea: a work-efficient tree by slices of even and odd places, log2 n deep. Rounding:
the factors' products are rounded level by level. Time by the host's clock: JAX has no events."""

from jax_scan import make_sums, place
from peer import import_jax_gpu
from scan_peers import only

VARIANT = {
    "summary": "JAX associative_scan over affine maps (host clock)",
    "origin": "JAX, jax.lax.associative_scan",
    "framework": "jax",
    "needs_gpu": True,
    "clock": "jax",
}


def supports(case, tunables):
    return only(case, k=(0,))


def prepare(case, tunables, inputs):
    jax = import_jax_gpu()
    return {"jax": jax, "sums": jax.jit(make_sums(jax, case))}


def load(state, inputs):
    state["inputs"] = [place(state["jax"], inputs[name]) for name in ("x", "gamma", "reset")]


def run(state):
    return state["sums"](*state["inputs"])


def fetch(state, outputs, out):
    out["y"][:] = outputs
