"""The vector-Jacobian product of jax.lax.associative_scan, jitted. Idea: JAX differentiates the tree of discounted_cumsum; forward and
backward are one program, for the op is given x and not y. Time by the host's clock: JAX has no events."""

from jax_scan import make_sums
from peer import import_jax_gpu
from scan_peers import only

VARIANT = {
    "summary": "JAX vjp of associative_scan (host clock)",
    "origin": "JAX, jax.vjp",
    "framework": "jax",
    "bound": "dtype_sums",  # the gradient of gamma is added up in the dtype, through a tree or a matrix
    "needs_gpu": True,
    "clock": "jax",
}


def supports(case, tunables):
    return only(case, k=(0,))


def prepare(case, tunables, shapes):
    jax = import_jax_gpu()
    sums = make_sums(jax, case)

    def gradients(x, gamma, dy, reset):
        return jax.vjp(lambda x, gamma: sums(x, gamma, reset), x, gamma)[1](dy)

    return jax.jit(gradients)


def run(gradients, inputs):
    return gradients(*(inputs[name] for name in ("x", "gamma", "dy", "reset")))
