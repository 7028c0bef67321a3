"""The peers of moments: their Python is called as the worker calls it and compared with the definition in NumPy, in float64 and two passes.
PyTorch and JAX compute on the CPU here, if they are installed; torch.compile leaves the function as it is."""

import numpy
import pytest


from play_peer import SOURCE, has, play  # which has what the worker has in the path

DTYPES = {"f64": "float64", "f32": "float32"}
NAMES = {3: "skewness", 4: "kurtosis", 5: "m5", 6: "m6"}


def make_case(dtype="f64", **params):
    known = {"rows": 1000, "cols": 7, "order": 4, "weights": "none", "degenerate": "nan", "columns": "alike"}
    return {"op": "moments", "params": {**known, **params}, "dtype": dtype, "input": "normal", "seed": 7}


def define(case, x):
    x, found = x.astype("f8"), {}
    mean = x.mean(0)
    var = ((x - mean) ** 2).mean(0)
    found.update(mean=mean, var=var, min=x.min(0), max=x.max(0))
    for p, name in NAMES.items():
        asked = p <= case["params"]["order"]
        moment = ((x - mean) ** p).mean(0) / var ** (p / 2) if asked else numpy.empty(0)
        if asked and case["params"]["degenerate"] == "zero":
            moment[var == 0] = 0
        found[name] = moment
    return found


CASES = [
    make_case(),
    make_case("f32", rows=500, cols=3),
    make_case(rows=4, cols=1),
    make_case(rows=9, cols=300),
    make_case(degenerate="zero", cols=3),
]


CONSTANT = [make_case(rows=64, cols=4, degenerate=word) for word in ("nan", "zero")]


HIGHER = [make_case(order=5), make_case(order=6)]


REFUSED = [make_case(weights="row"), make_case(rows=0)]


def inputs_of(case, constant):
    shape = (case["params"]["rows"], case["params"]["cols"])
    x = numpy.random.default_rng(3).normal(size=shape) ** 2 + numpy.arange(shape[1])
    if constant:
        x[:, 1] = 2.5  # exact in every order of summation
    return {"x": x.astype(DTYPES[case["dtype"]]), "weights": numpy.zeros(0, DTYPES[case["dtype"]])}


def check(name, replaced=(), higher=True, gives=None, constant=True):
    for case in CASES + (CONSTANT if constant else CONSTANT[1:]) + (HIGHER if higher else []):
        with numpy.errstate(all="ignore"):
            inputs = inputs_of(case, case in CONSTANT)
            expected = define(case, inputs["x"])
            actual = play(f"moments/{name}", case, inputs, expected, replaced)
            assert isinstance(actual, dict), actual
            tolerance = 1e-9 if case["dtype"] == "f64" else 1e-3
            for output, values in expected.items():
                if gives and output not in gives:
                    assert (actual[output] == 777).all(), output  # as play left it
                    continue
                numpy.testing.assert_allclose(
                    actual[output], values, rtol=tolerance, atol=tolerance, err_msg=f"{output} of {case}"
                )
    for case in REFUSED + ([] if higher else HIGHER):
        assert isinstance(play(f"moments/{name}", case, {}, {}, replaced), str)


def test_numpy():
    check("peer_numpy")


@pytest.mark.skipif(not has("scipy"), reason="SciPy is not installed")
def test_scipy():
    check("peer_scipy", higher=False)


@pytest.mark.skipif(not has("pandas"), reason="pandas is not installed")
def test_pandas():
    check("peer_pandas", higher=False, constant=False)
    assert isinstance(play("moments/peer_pandas", make_case(rows=3), {}, {}, {}), str)


@pytest.mark.skipif(not has("torch"), reason="PyTorch is not installed")
def test_torch(monkeypatch):
    import torch

    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    check("peer_torch_cpu")
    check("peer_torch_cuda", {"torch"})
    check("peer_torch_compile", {"torch"})


@pytest.mark.skipif(not has("torch"), reason="PyTorch is not installed")
def test_torch_in_part():
    check("peer_torch_var_mean", {"torch"}, gives={"mean", "var"})
    check("peer_torch_sum", {"torch"}, gives={"mean"})


@pytest.mark.skipif(not has("jax"), reason="JAX is not installed")
def test_jax():
    check("peer_jax", {"jax"})


def test_what_is_given_is_of_the_op():
    import ast

    for path in sorted((SOURCE / "impls").glob("*/peer_*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign) and node.targets[0].id == "VARIANT":
                outputs = ast.literal_eval(node.value).get("outputs", ["mean"])
                assert outputs and set(outputs) <= {"mean", "var", "min", "max", *NAMES.values()}, path
