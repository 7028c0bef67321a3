"""y[j][i] = x[i][j]"""

PARAMS = {"m": 64, "n": 96}
INPUTS = {"x": "m n"}
OUTPUTS = {"y": "n m"}
DTYPES = ["f32"]
FAMILIES = ["normal", "uniform"]
BOUND = "elementwise"


def reference(case, inputs):
    return inputs["x"].T
