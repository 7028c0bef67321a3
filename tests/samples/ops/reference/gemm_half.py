"""c = a b, where b has its columns one behind the other, with sums in f16"""

import numpy

PARAMS = {"m": 64, "n": 64, "k": (64, 1, 1e6)}
INPUTS = {"a": "m k", "b": "n k"}
OUTPUTS = {"c": "m n"}
DTYPES = ["f16"]
FAMILIES = ["normal", "uniform", "integers"]
BOUND = "own"


def reference(case, inputs):
    return inputs["a"] @ inputs["b"].T


def bound(case, inputs, outputs, u):
    """Each of k sums and the result are rounded to f16."""
    return (case.k + 1) * 2.0**-11 * (numpy.abs(inputs["a"]) @ numpy.abs(inputs["b"]).T)
