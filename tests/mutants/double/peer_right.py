"""Not a mutant: NumPy doubles the array. Must pass, so that the others fail for their own reasons."""

from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "mutant: is right", "origin": "tests", "framework": "numpy", "dtypes": ["f16", "bf16"]}


def run(state, inputs):
    return inputs["x"] * 2
