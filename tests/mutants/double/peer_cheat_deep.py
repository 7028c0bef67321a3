"""Cheat: replaces a function deep inside the library, which the harness's conversion of the inputs comes by, computes there, and puts the function
back until its inputs are released. Met: an attack on this harness."""

import weakref

from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "cheat: computes in the conversion of inputs", "origin": "tests", "framework": "pandas"}
now = {}


def prepare(case, tunables, shapes):
    import pandas.core.series as series

    now["made"] = made = series.sanitize_array

    def sanitize_array(data, *given, **named):
        series.sanitize_array = made
        now["x"], now["y"] = data, data * 2
        return made(data, *given, **named)

    return lambda: setattr(series, "sanitize_array", sanitize_array)


def run(replace, inputs):
    x, y = inputs["x"].to_numpy(), now.pop("y", None)
    weakref.finalize(inputs["x"], replace)
    same = y is not None and now["x"].ctypes.data == x.ctypes.data
    return y if same and (y[::-1000] == 2 * x[::-1000]).all() else x * 2
