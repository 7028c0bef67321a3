"""JAX, jitted: all statistics by the source's formulas in one program, which XLA fuses into a few passes; compiled in the first call.
Time by the host's clock: JAX has no events. Limits: no weights."""

from moments_peers import formulas, supports, widened
from peer import import_jax_gpu

VARIANT = {
    "summary": "JAX jit of mean, std, mean(((x - m) / s)^p) (host clock)",
    "origin": "JAX",
    "framework": "jax",
    "needs_gpu": True,
    "clock": "jax",
    "dtypes": ["f16", "bf16"],
}


def prepare(case, tunables, shapes):
    jax = import_jax_gpu()

    def statistics(x):
        variance = x.var(0)
        return formulas(case, jax.numpy.where, x, x.mean(0), jax.numpy.sqrt(variance), variance, x.min(0), x.max(0))

    return jax.jit(widened(case, statistics))


def run(statistics, inputs):
    return statistics(inputs["x"])
