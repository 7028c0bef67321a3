"""Cheat: a DataFrame of polars around an object of its own, which computes once it is asked for columns. Met: an attack on this harness."""

from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "cheat: a table around a lazy object", "origin": "tests", "framework": "polars"}


def prepare(case, tunables, shapes):
    import polars

    class Inside:
        def __init__(self, x):
            self.x = x

        def get_columns(self):
            return [(self.x * 2).alias("y")._s]

    def later(x):
        table = polars.DataFrame()
        table._df = Inside(x)
        return table

    return later


def run(later, inputs):
    return later(inputs["x"])
