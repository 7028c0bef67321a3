"""c = a b, of matrices in the order of C"""

PARAMS = {"m": 64, "n": 64, "k": (64, 1, 1e6)}
INPUTS = {"a": "m k", "b": "k n"}
OUTPUTS = {"c": "m n"}
DTYPES = ["f16", "f32", "bf16"]
FAMILIES = ["normal", "uniform", "integers"]
BOUND = "dot"


def reference(case, inputs):
    return inputs["a"] @ inputs["b"]
