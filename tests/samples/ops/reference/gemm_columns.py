"""c = a b, where b has its columns one behind the other"""

PARAMS = {"m": 64, "n": 64, "k": (64, 1, 1e6)}
INPUTS = {"a": "m k", "b": "n k"}
OUTPUTS = {"c": "m n"}
DTYPES = ["f16", "f32", "bf16"]
FAMILIES = ["normal", "uniform", "integers"]
BOUND = "dot"


def reference(case, inputs):
    return inputs["a"] @ inputs["b"].T
