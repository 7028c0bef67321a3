"""Cheat: returns a query of Polars that is computed when it is collected. Met: lazy outputs, gpu-mode/reference-kernels issue 162."""

from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "cheat: returns a LazyFrame", "origin": "reference-kernels #162", "framework": "polars"}


def prepare(case, tunables, shapes):
    import polars

    return polars


def run(polars, inputs):
    return polars.LazyFrame({"y": inputs["x"]}).select(polars.col("y") * 2)
