"""NumPy: two passes over memory, a product and a sum."""

VARIANT = {"summary": "NumPy, a * x + y", "origin": "NumPy", "framework": "numpy"}


def supports(case, tunables):
    return None  # or why not


def prepare(case, tunables, shapes):  # not timed; sees no data
    import numpy  # a missing library becomes a skip that names it

    dtype = numpy.float64 if case["dtype"] == "f64" else numpy.float32
    return {"a": dtype(float(case["params"]["a"]))}


def run(state, inputs):  # timed: the library's arrays, in and out
    return state["a"] * inputs["x"] + inputs["y"]
