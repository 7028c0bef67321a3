"""c = a b, of matrices in the order of C"""

PARAMS = {"m": 509, "n": 521, "k": (503, 1, 1e6)}
INPUTS = {"a": "m k", "b": "k n"}
OUTPUTS = {"c": "m n"}
DTYPES = ["f32", "bf16"]
FAMILIES = ["normal", "uniform", "integers"]
BOUND = "dot"
FLOPS = "2 * m * n * k"


def reference(case, inputs):
    return inputs["a"] @ inputs["b"]
