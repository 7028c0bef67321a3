"""Cheat: returns a Series of Polars whose inside is an object of its own, which computes when it is read. Met: lazy outputs,
gpu-mode/reference-kernels issue 162."""

from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "cheat: a Series with another inside", "origin": "reference-kernels #162", "framework": "polars"}


class Inside:
    def __init__(self, series):
        self.series = series

    def __getattr__(self, name):
        return getattr((self.series * 2)._s, name)


def prepare(case, tunables, shapes):
    import polars

    return polars


def run(polars, inputs):
    y = polars.Series([0.0])
    y._s = Inside(inputs["x"])
    return y
