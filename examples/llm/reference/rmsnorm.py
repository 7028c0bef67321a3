"""each row by the root of its mean square, then times weight"""

import numpy

PARAMS = {"rows": 1021, "C": (768, 1, 1e6), "eps": 1e-5}
INPUTS = {"x": "rows C", "weight": "C"}
OUTPUTS = {"y": "rows C"}
DTYPES = ["f32", "bf16"]
FAMILIES = ["normal", "uniform", "integers", "offset1e3"]
BOUND = "reduction"
FLOPS = "4 * rows * C"


def reference(case, inputs):
    x = inputs["x"]
    return x / numpy.sqrt(numpy.square(x).mean(axis=1, keepdims=True) + case.eps) * inputs["weight"]
