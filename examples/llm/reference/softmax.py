"""exp(x) over the sum of its row's, without overflow"""

import numpy

PARAMS = {"rows": 1021, "C": (1031, 1, 1e6)}
INPUTS = {"x": "rows C"}
OUTPUTS = {"y": "rows C"}
DTYPES = ["f32", "bf16"]
FAMILIES = ["normal", "uniform", "integers", "offset1e3", "ones"]
BOUND = "softmax"
FLOPS = "5 * rows * C"


def reference(case, inputs):
    x = inputs["x"]
    powers = numpy.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
