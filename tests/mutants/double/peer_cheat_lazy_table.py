"""Cheat: a DataFrame whose one column is of a class of its own, which computes once it is asked for numbers. Met: an attack on this harness."""

import numpy
from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "cheat: a table with a lazy column", "origin": "tests", "framework": "pandas"}


def prepare(case, tunables, shapes):
    import pandas
    from pandas.api.extensions import ExtensionArray, ExtensionDtype

    class Kind(ExtensionDtype):
        name, type, na_value = "later", float, numpy.nan

        @classmethod
        def construct_array_type(cls):
            return Later

    class Later(ExtensionArray):
        dtype, nbytes = Kind(), 0

        def __init__(self, x):
            self.x = x

        def __len__(self):
            return self.x.size

        def copy(self):
            return self

        def to_numpy(self, dtype=None, copy=False, na_value=None):
            return self.x * 2

        def __array__(self, dtype=None, copy=None):
            return self.x * 2

    return lambda x: pandas.DataFrame({"y": Later(x)})


def run(later, inputs):
    return later(inputs["x"].to_numpy())
