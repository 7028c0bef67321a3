"""The peers of moments: their Python is called as the worker calls it and compared with the definition in NumPy, in float64 and two passes.
PyTorch and JAX compute on the CPU here, if they are installed; torch.compile leaves the function as it is."""

import os
import pathlib
import sys
import unittest

SOURCE = pathlib.Path(os.environ.get("RUNGS_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
sys.path[:0] = [str(SOURCE / "harness" / "device"), str(SOURCE / "impls" / "common"), str(SOURCE / "tests" / "scripts")]

try:
    import numpy
except ImportError:
    print("SKIP: NumPy is not installed")
    sys.exit(77)

from play_peer import has, play  # noqa: E402

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


class Moments(unittest.TestCase):
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

    def inputs(self, case, constant):
        shape = (case["params"]["rows"], case["params"]["cols"])
        x = numpy.random.default_rng(3).normal(size=shape) ** 2 + numpy.arange(shape[1])
        if constant:
            x[:, 1] = 2.5  # exact in every order of summation
        return {"x": x.astype(DTYPES[case["dtype"]]), "weights": numpy.zeros(0, DTYPES[case["dtype"]])}

    def check(self, name, replaced=(), higher=True, gives=None, constant=True):
        for case in self.CASES + (self.CONSTANT if constant else self.CONSTANT[1:]) + (self.HIGHER if higher else []):
            with self.subTest(peer=name, **case["params"]), numpy.errstate(all="ignore"):
                inputs = self.inputs(case, case in self.CONSTANT)
                expected = define(case, inputs["x"])
                actual = play(f"moments/{name}", case, inputs, expected, replaced)
                self.assertIsInstance(actual, dict, actual)
                tolerance = 1e-9 if case["dtype"] == "f64" else 1e-3
                for output, values in expected.items():
                    if gives and output not in gives:
                        self.assertTrue((actual[output] == 777).all(), output)  # as play left it
                        continue
                    numpy.testing.assert_allclose(
                        actual[output], values, rtol=tolerance, atol=tolerance, err_msg=output
                    )
        for case in self.REFUSED + ([] if higher else self.HIGHER):
            self.assertIsInstance(play(f"moments/{name}", case, {}, {}, replaced), str)

    def test_numpy(self):
        self.check("peer_numpy")

    @unittest.skipUnless(has("scipy"), "SciPy is not installed")
    def test_scipy(self):
        self.check("peer_scipy", higher=False)

    @unittest.skipUnless(has("pandas"), "pandas is not installed")
    def test_pandas(self):
        self.check("peer_pandas", higher=False, constant=False)
        self.assertIsInstance(play("moments/peer_pandas", make_case(rows=3), {}, {}, {}), str)

    @unittest.skipUnless(has("torch"), "PyTorch is not installed")
    def test_torch(self):
        import torch

        compiled = torch.compile
        torch.compile = lambda function, **_: function
        self.addCleanup(setattr, torch, "compile", compiled)
        self.check("peer_torch_cpu")
        self.check("peer_torch_cuda", {"torch"})
        self.check("peer_torch_compile", {"torch"})

    @unittest.skipUnless(has("torch"), "PyTorch is not installed")
    def test_torch_in_part(self):
        self.check("peer_torch_var_mean", {"torch"}, gives={"mean", "var"})
        self.check("peer_torch_sum", {"torch"}, gives={"mean"})

    @unittest.skipUnless(has("jax"), "JAX is not installed")
    def test_jax(self):
        self.check("peer_jax", {"jax"})

    def test_what_is_given_is_of_the_op(self):
        import ast

        for path in sorted((SOURCE / "impls").glob("*/peer_*.py")):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.Assign) and node.targets[0].id == "VARIANT":
                    outputs = ast.literal_eval(node.value).get("outputs", ["mean"])
                    self.assertTrue(outputs and set(outputs) <= {"mean", "var", "min", "max", *NAMES.values()}, path)


if __name__ == "__main__":
    unittest.main(verbosity=2)
