"""References in Python: what their descriptors refuse, and how far results may be from them. test_project.py builds examples/llm and runs it."""

import importlib.util
import sys

import pytest
from program import SOURCE

numpy = pytest.importorskip("numpy")
sys.path[:0] = [str(SOURCE / "harness/device"), str(SOURCE / "cmake")]
import python_op
import reference_worker

PLAIN = 'INPUTS = {"x": "n"}\nPARAMS = {"n": 8}\nOUTPUTS = {"y": "n"}\nFAMILIES = ["normal"]\nBOUND = "elementwise"\ndef reference(case, inputs):\n    return inputs["x"]\n'


def llm(op):
    spec = importlib.util.spec_from_file_location(op, SOURCE / f"examples/llm/reference/{op}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def judged(module, inputs, names, family="normal", dtype="f32", **params):
    case = {"params": params, "dtype": dtype, "input": family, "seed": 1}
    return reference_worker.judged(module, case, inputs, names)


def normal(*shape, seed=1):
    return numpy.random.default_rng(seed).standard_normal(shape).astype(numpy.float32)


def ratio(given, value, tolerance):
    return float(numpy.max(abs(given.astype(numpy.float64) - value) / tolerance))


def truncated(array, bits):
    """To so many bits of mantissa, as TF32 (10) and bf16 (7) have."""
    mask = numpy.uint32(0xFFFFFFFF << (23 - bits) & 0xFFFFFFFF)
    return (array.view(numpy.uint32) & mask).view(numpy.float32)


@pytest.mark.parametrize(
    "change, words",
    [
        (('"n": 8', '"m": 8'), "there is no parameter n; there is m"),
        (('BOUND = "elementwise"', 'BOUND = "loose"'), "BOUND is 'loose'; expected elementwise"),
        (('BOUND = "elementwise"', 'BOUND = "own"'), "go together"),
        (('BOUND = "elementwise"', 'BOUND = "check"'), "go together"),
        (('{"y": "n"}', '{"y": "n i32"}'), "y: integers are possible in outputs that check() judges"),
        (("def reference(", "def references("), "def reference(case, inputs) is missing"),
        (('FAMILIES = ["normal"]', "FAMILIES = list('x')"), "FAMILIES is read without running the file"),
        (('{"y": "n"}', '{"y": "n);"}'), "is no expression of parameters"),
        (("return", "return ("), "never closed"),
    ],
)
def test_a_wrong_description_is_named(change, words):
    with pytest.raises((python_op.Wrong, SyntaxError), match=words.replace("(", r"\(").replace(")", r"\)")):
        python_op.descriptor("op", PLAIN.replace(*change))


def test_the_examples_are_short():
    for op in ("layernorm", "softmax", "sgemm"):
        assert len((SOURCE / f"examples/llm/reference/{op}.py").read_text().splitlines()) < 25


def orders(products):
    """Sums along the last axis: a plain loop, by eight accumulators, a tree, Kahan's."""
    f32 = numpy.float32
    plain, error = numpy.zeros(products.shape[:-1], f32), numpy.zeros(products.shape[:-1], f32)
    kahan, eight = plain.copy(), numpy.zeros((*products.shape[:-1], 8), f32)
    for i in range(products.shape[-1]):
        plain = plain + products[..., i]
        eight[..., i % 8] += products[..., i]
        term = products[..., i] - error
        total = kahan + term
        error, kahan = (total - kahan) - term, total
    tree = products
    while tree.shape[-1] > 1:
        if tree.shape[-1] % 2:
            tree = numpy.concatenate([tree, numpy.zeros_like(tree[..., :1])], axis=-1)
        tree = tree[..., ::2] + tree[..., 1::2]
    return {"plain": plain, "eight": eight.sum(axis=-1, dtype=f32), "tree": tree[..., 0], "kahan": kahan}


@pytest.mark.parametrize("family", ["normal", "uniform", "ones"])
def test_no_order_of_a_sum_is_refused(family):
    m, n, k = 200, 250, 521
    random = numpy.random.default_rng(3)
    make = {
        "normal": normal,
        "uniform": lambda *s: random.random(s, numpy.float32),
        "ones": lambda *s: numpy.full(s, numpy.float32(0.1)),
    }[family]
    a, b = make(m, k), make(k, n)
    (value,), (tolerance,) = (
        list(x.values()) for x in judged(llm("sgemm"), {"a": a, "b": b}, ["c"], family, m=m, n=n, k=k)
    )
    for rows in range(0, m, 50):
        for name, given in orders(a[rows : rows + 50, None, :] * b.T[None]).items():
            assert ratio(given, value[rows : rows + 50], tolerance[rows : rows + 50]) < 1, name


def test_cuts_of_precision_are_refused():
    m, n, k = 64, 64, 4099
    a, b = normal(m, k), normal(k, n, seed=2)
    values, tolerances = judged(llm("sgemm"), {"a": a, "b": b}, ["c"], m=m, n=n, k=k)
    for bits in (7, 10):
        cut = truncated(a, bits).astype(float) @ truncated(b, bits).astype(float)
        assert ratio(cut, values["c"], tolerances["c"]) > 1
    assert ratio(a @ b, values["c"], tolerances["c"]) < 0.2


def test_sums_of_integers_are_exact():
    a = numpy.random.default_rng(1).integers(-8, 9, (16, 300)).astype(numpy.float32)
    values, tolerances = judged(llm("sgemm"), {"a": a, "b": a.T.copy()}, ["c"], "integers", m=16, n=16, k=300)
    assert numpy.all(tolerances["c"] == 0) and numpy.all(values["c"] == a @ a.T)


def test_rows_in_f32_are_within_their_bounds():
    x, weight, bias = normal(50, 768), normal(768, seed=2), normal(768, seed=3)
    values, tolerances = judged(
        llm("layernorm"), {"x": x, "weight": weight, "bias": bias}, ["y", "mean", "rstd"], rows=50, C=768, eps=1e-5
    )
    mean = x.mean(axis=1, keepdims=True)
    rstd = 1 / numpy.sqrt(((x - mean) ** 2).mean(axis=1, keepdims=True) + numpy.float32(1e-5))
    assert ratio((x - mean) * rstd * weight + bias, values["y"], tolerances["y"]) < 1
    unbiased = rstd * numpy.float32((767 / 768) ** 0.5)  # the variance over C - 1: a slip
    assert ratio((x - mean) * unbiased * weight + bias, values["y"], tolerances["y"]) > 1
    values, tolerances = judged(llm("softmax"), {"x": x}, ["y"], rows=50, C=768)
    powers = numpy.exp(x - x.max(axis=1, keepdims=True))
    assert ratio(powers / powers.sum(axis=1, keepdims=True), values["y"], tolerances["y"]) < 1
    assert ratio(powers / powers[:, 1:].sum(axis=1, keepdims=True), values["y"], tolerances["y"]) > 1


def module_of(tmp_path, text):
    path = tmp_path / "op.py"
    path.write_text(text)
    return reference_worker.load(path)


def test_what_has_no_rule_is_named(tmp_path):
    text = PLAIN.replace('return inputs["x"]', 'import numpy\n    return numpy.arctan(inputs["x"])')
    with pytest.raises(TypeError, match="numpy.arctan has no rule for its error"):
        judged(module_of(tmp_path, text), {"x": normal(8)}, ["y"], n=8)


def test_f64_is_judged_by_better_than_f64(tmp_path):
    module = module_of(tmp_path, PLAIN.replace('inputs["x"]', 'inputs["x"] / 3'))
    values, tolerances = judged(module, {"x": normal(8).astype(float)}, ["y"], dtype="f64", n=8)
    assert values["y"].dtype == numpy.longdouble and numpy.all(tolerances["y"] < 3.1 * 2.0**-53 * abs(values["y"]))
    plain = module_of(tmp_path, 'PRECISION = "float64"\n' + PLAIN.replace('inputs["x"]', 'inputs["x"] / 3'))
    of_float64 = judged(plain, {"x": normal(8).astype(float)}, ["y"], dtype="f64", n=8)
    assert of_float64[0]["y"].dtype == numpy.float64 and numpy.all(of_float64[1]["y"] > 1.9 * tolerances["y"])


def test_an_own_bound(tmp_path):
    text = (
        PLAIN.replace('"elementwise"', '"own"')
        + "def bound(case, inputs, outputs, u):\n    return 4 * u * abs(outputs)\n"
    )
    values, tolerances = judged(module_of(tmp_path, text), {"x": normal(8)}, ["y"], n=8)
    assert numpy.allclose(tolerances["y"], 2.0**-22 * abs(values["y"]))
