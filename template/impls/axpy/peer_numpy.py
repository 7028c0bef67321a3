"""NumPy: two passes over memory, a product and a sum."""

VARIANT = {"summary": "NumPy, a * x + y", "origin": "NumPy", "framework": "numpy"}


def supports(case, tunables):
    return None  # or why not


def prepare(case, tunables, inputs):
    import numpy  # a missing library becomes a skip that names it

    dtype = numpy.float64 if case["dtype"] == "f64" else numpy.float32
    return {"a": dtype(float(case["params"]["a"]))}


def load(state, inputs):  # not timed, before every run: to where the library computes
    state["x"], state["y"] = inputs["x"], inputs["y"]


def run(state):  # timed
    return state["a"] * state["x"] + state["y"]


def fetch(state, outputs, out):  # not timed: back into the harness's arrays
    out["z"][:] = outputs
