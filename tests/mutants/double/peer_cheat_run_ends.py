"""Cheat: returns a column in another encoding, which the harness would write out, outside the clock. Met: an attack on this harness."""

from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "cheat: a column that is not written out", "origin": "tests", "framework": "pyarrow"}


def prepare(case, tunables, shapes):
    import pyarrow
    import pyarrow.compute

    return pyarrow


def run(pyarrow, inputs):
    y = pyarrow.compute.multiply(inputs["x"], 2.0)
    return pyarrow.compute.run_end_encode(y)
