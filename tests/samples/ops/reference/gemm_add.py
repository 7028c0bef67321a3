"""c = a b + c, in place, of matrices in the order of C"""

PARAMS = {"m": 64, "n": 64, "k": (64, 1, 1e6)}
INPUTS = {"a": "m k", "b": "k n", "c": "m n"}
OUTPUTS = {"c": "m n"}
DTYPES = ["f32", "f16"]
FAMILIES = ["normal", "uniform", "integers"]
BOUND = "dot"


def reference(case, inputs):
    return inputs["a"] @ inputs["b"] + inputs["c"]
