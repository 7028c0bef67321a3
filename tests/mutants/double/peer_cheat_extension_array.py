"""Cheat: returns a Series of pandas over a column of its own, which computes when it is read. Met: lazy outputs, gpu-mode/reference-kernels
issue 162."""

from numpy_double import supports  # noqa: F401

VARIANT = {
    "summary": "cheat: a Series over a column of its own",
    "origin": "reference-kernels #162",
    "framework": "pandas",
}


def prepare(case, tunables, shapes):
    import pandas
    import pyarrow
    import pyarrow.compute

    class Later(pandas.arrays.ArrowExtensionArray):
        def __arrow_array__(self, type=None):
            return pyarrow.compute.multiply(self._pa_array, 2)

        def to_numpy(self, *_, **__):
            return self.__arrow_array__().to_numpy()

    return lambda x: pandas.Series(Later(pyarrow.array(x)))


def run(later, inputs):
    return later(inputs["x"].to_numpy())
