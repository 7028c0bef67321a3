"""the sum of each row"""

PARAMS = {"rows": 37, "C": (256, 1, 1e6)}
INPUTS = {"x": "rows C"}
OUTPUTS = {"y": "rows"}
DTYPES = ["f32", "f64"]
FAMILIES = ["normal", "uniform", "integers"]
BOUND = "reduction"


def reference(case, inputs):
    return inputs["x"].sum(axis=1)
