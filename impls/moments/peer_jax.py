"""JAX, jitted: all statistics by the source's formulas in one program, which XLA fuses into a few passes; compiled in the first call.
Time by the host's clock: JAX has no events. Limits: no weights."""

from moments_peers import formulas, put, supports
from peer import import_jax_gpu

VARIANT = {
    "summary": "JAX jit of mean, std, mean(((x - m) / s)^p) (host clock)",
    "origin": "JAX",
    "framework": "jax",
    "needs_gpu": True,
    "clock": "jax",
}


def prepare(case, tunables, inputs):
    jax = import_jax_gpu()

    def statistics(x):
        variance = x.var(0)
        return formulas(case, x, x.mean(0), jax.numpy.sqrt(variance), variance, x.min(0), x.max(0))

    return {"jax": jax, "case": case, "statistics": jax.jit(statistics)}


def load(state, inputs):
    state["x"] = state["jax"].block_until_ready(state["jax"].device_put(inputs["x"]))


def run(state):
    return state["statistics"](state["x"])


def fetch(state, outputs, out):
    import numpy

    put(state["case"], {name: numpy.asarray(values) for name, values in outputs.items()}, out)
