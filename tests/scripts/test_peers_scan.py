"""The peers of discounted_cumsum, its gradients and ewm: their Python is called as the worker calls it and compared with the definition
in NumPy. Libraries that need a GPU compute on the CPU here, PyTorch and JAX if they are installed, or are played by SciPy (CuPy) and by
Numba's simulator: what is checked is what a peer's file adds, not the library."""

import math
import os
import sys
import types
import numpy
import pytest

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"  # before Numba is imported

from play_peer import has, play  # which has what the worker has in the path
from program import BUILD

DTYPES = {"f64": "float64", "f32": "float32"}


def sums_case(dtype="f64", **params):
    known = {"direction": "right", "batch": 1, "n": 1000, "gamma": 0.99, "gamma_per": "all", "k": 0, "reset": "none"}
    return {"op": "discounted_cumsum", "params": {**known, **params}, "dtype": dtype, "input": "normal", "seed": 7}


def sums_inputs(case):
    p, rng = case["params"], numpy.random.default_rng(5)
    shape, dtype = (p["batch"], p["n"]), DTYPES[case["dtype"]]
    gamma = {
        "all": numpy.full(1, p["gamma"]),
        "row": p["gamma"] * rng.uniform(0.9, 1, p["batch"]),
        "element": p["gamma"] * rng.uniform(0.9, 1, shape),
    }[p["gamma_per"]]
    reset = (rng.random(shape) < 0.1).astype("u1") if p["reset"] == "mask" else numpy.zeros((0, 0), "u1")
    return {
        "x": rng.normal(size=shape).astype(dtype),
        "gamma": gamma.astype(dtype),
        "dy": rng.normal(size=shape).astype(dtype),
        "reset": reset,
    }


def factors_of(case, inputs):
    """What multiplies the sum that is carried into each element, [batch, n] in float64."""
    p, gamma = case["params"], inputs["gamma"].astype("f8")
    gamma = numpy.broadcast_to(gamma[:, None] if p["gamma_per"] == "row" else gamma, (p["batch"], p["n"]))
    return numpy.where(inputs["reset"] != 0, 0, gamma) if p["reset"] == "mask" else gamma


def define_sums(case, inputs, x=None):
    p, g = case["params"], factors_of(case, inputs)
    x = inputs["x"].astype("f8") if x is None else x
    y, carried = numpy.zeros(x.shape), numpy.zeros(p["batch"])
    for i in reversed(range(p["n"])) if p["direction"] == "right" else range(p["n"]):
        y[:, i] = carried = x[:, i] + g[:, i] * carried
    return {"y": y}


def define_gradients(case, inputs):
    """dx by the transposed recurrence, written out element by element; dgamma from it and the sums."""
    p, g = case["params"], factors_of(case, inputs)
    right, n = p["direction"] == "right", p["n"]
    y, dy = define_sums(case, inputs)["y"], inputs["dy"].astype("f8")
    dx, dg = dy.copy(), numpy.zeros(dy.shape)
    order = range(n) if right else reversed(range(n))
    for i in order:
        came = i - 1 if right else i + 1  # the element that this one was carried into
        if 0 <= came < n:
            dx[:, i] += g[:, came] * dx[:, came]
        went = i + 1 if right else i - 1
        if 0 <= went < n:
            dg[:, i] = dx[:, i] * y[:, went]
    if p["reset"] == "mask":
        dg = numpy.where(inputs["reset"] != 0, 0, dg)
    return {"dx": dx, "dgamma": {"all": dg.sum(keepdims=True)[0], "row": dg.sum(1), "element": dg}[p["gamma_per"]]}


SUMS_CASES = [
    sums_case(n=n, batch=b, direction=d)
    for n, b, d in (
        (1, 1, "right"),
        (2, 3, "left"),
        (127, 2, "right"),
        (128, 2, "left"),
        (129, 2, "right"),
        (129, 2, "left"),
        (1000, 3, "left"),
        (16385, 1, "right"),
        (16500, 2, "left"),
    )
]


SUMS_CASES += [
    sums_case(n=300, batch=2, gamma=g, direction=d) for g in (0.0, 1.0, 1.0001, -0.5) for d in ("left", "right")
]


SUMS_CASES += [sums_case("f32", n=5000, batch=2), sums_case(n=0), sums_case(n=7, batch=0)]


SUMS_SMALL = [
    sums_case(n=1),
    sums_case("f32", n=1000, batch=2, gamma=1.0001),
    sums_case(n=0),
]  # JAX compiles each for seconds


SUMS_MORE = [
    sums_case(n=20, batch=3, gamma_per=per, reset=reset, direction=d)
    for per in ("all", "row", "element")
    for reset in ("none", "mask")
    for d in ("left", "right")
] + [sums_case(k=5)]


def check_sums(name, replaced, refused, op="discounted_cumsum", define=define_sums, cases=SUMS_CASES, **more):
    """In the modes that the peer says it knows; what it refuses it must refuse with a reason."""
    refusals = 0
    for case in cases + SUMS_MORE:
        inputs = sums_inputs(case)
        with numpy.errstate(all="ignore"):
            expected = define(case, inputs)
        actual = play(f"{op}/{name}", case, inputs, expected, replaced, **more)
        if isinstance(actual, str):
            refusals += 1
            continue
        tolerance = 1e-11 if case["dtype"] == "f64" else 1e-4
        for output, values in expected.items():
            scale = max(1, abs(values).max(initial=0))
            numpy.testing.assert_allclose(
                actual[output] / scale, values / scale, rtol=0, atol=tolerance, err_msg=f"{output} of {case}"
            )
    assert refusals == refused


@pytest.mark.skipif(not has("scipy"), reason="SciPy is not installed")
def test_sums_by_scipy():
    check_sums("peer_scipy_lfilter", {}, 11)


@pytest.mark.skipif(not has("scipy"), reason="SciPy is not installed")
def test_sums_by_cupy():
    check_sums("peer_cupy_lfilter", {"cupy"}, 11)


@pytest.mark.skipif(not has("torch"), reason="PyTorch is not installed")
def test_sums_by_torch():
    check_sums("peer_torch", {"torch"}, 11)


@pytest.mark.skipif(not has("torch"), reason="PyTorch is not installed")
def test_the_published_loop():
    check_sums("peer_pytorch_loop_cpu", {}, 9)


@pytest.mark.skipif(not has("torch_discounted_cumsum"), reason="torch-discounted-cumsum is not installed")
def test_the_published_package():
    check_sums("peer_torch_discounted_cumsum_cpu", {}, 27)


@pytest.mark.skipif(not has("torch"), reason="PyTorch is not installed")
def test_gradients_by_autograd():
    check_sums("peer_torch_autograd", {"torch"}, 11 + 2, "discounted_cumsum_grad", define_gradients)


def play_hgrn(torch):
    """As documented: x and the logarithms of the gates [B, T, D], states [B, D]."""

    def fused_recurrent_hgrn(x, g, initial_state=None, output_final_state=False):
        assert x.shape == g.shape and x.ndim == 3 and x.is_contiguous() and g.is_contiguous()
        h = torch.zeros_like(x[:, 0]) if initial_state is None else initial_state
        y = torch.empty_like(x)
        for t in range(x.shape[1]):
            y[:, t] = h = g[:, t].exp() * h + x[:, t]
        return y, h if output_final_state else None

    package, ops, hgrn = (types.ModuleType(name) for name in ("fla", "fla.ops", "fla.ops.hgrn"))
    hgrn.fused_recurrent_hgrn = fused_recurrent_hgrn
    return {"fla": package, "fla.ops": ops, "fla.ops.hgrn": hgrn}


@pytest.mark.skipif(not has("torch"), reason="PyTorch is not installed")
def test_columns_by_hgrn(monkeypatch):
    import torch

    for name, module in play_hgrn(torch).items():
        monkeypatch.setitem(sys.modules, name, module)
    variant, known = (
        "discounted_cumsum/peer_fla_hgrn",
        {"direction": "left", "gamma_per": "element", "batch": 40, "n": 5},
    )
    for state in ("none", "both"):
        case = sums_case("f32", **known, layout="time_major", state=state)
        inputs = sums_inputs({**case, "params": {**case["params"], "batch": 5, "n": 40}})  # [T, D]
        inputs["initial"] = numpy.linspace(-1, 1, 40, dtype="f4")[: 40 if state == "both" else 0]
        case["params"].update(batch=40, n=5)
        y, carried = numpy.zeros((5, 40)), inputs["initial"].astype("f8") if state == "both" else numpy.zeros(40)
        for t in range(5):
            y[t] = carried = inputs["x"][t] + inputs["gamma"][t].astype("f8") * carried
        like = {"y": y, "final": carried} if state == "both" else {"y": y}
        actual = play(variant, case, inputs, like, {"torch"})
        for name, values in like.items():
            numpy.testing.assert_allclose(actual[name], values, rtol=0, atol=1e-5, err_msg=f"{name}, {state}")
    for dtype, params, words in (
        ("f32", {"layout": "row_major"}, "layout=row_major"),
        ("f64", {}, "float32"),
        ("f32", {"direction": "right"}, "direction=right"),
        ("f32", {"gamma": -0.5}, "logarithm"),
        ("f32", {"reset": "mask"}, "reset=mask"),
    ):
        case = sums_case(dtype, **{**known, "layout": "time_major", "state": "none", **params})
        assert words in play(variant, case, {}, {}, {"torch"})


@pytest.mark.skipif(not has("jax"), reason="JAX is not installed")
def test_sums_by_jax():
    check_sums("peer_jax_associative_scan", {"jax"}, 1, cases=SUMS_SMALL)


@pytest.mark.skipif(not has("jax"), reason="JAX is not installed")
def test_gradients_by_jax():
    check_sums("peer_jax_vjp", {"jax"}, 1, "discounted_cumsum_grad", define_gradients, SUMS_SMALL)


def test_a_row_that_is_too_long_for_python():
    case = sums_case(n=131073)
    assert "at most 131072" in play("discounted_cumsum/peer_pytorch_loop_cpu", case, {}, {}, {})


def test_more_elements_than_an_int_counts():
    case = sums_case(n=1 << 21, batch=1 << 10)
    assert "2^31" in play("discounted_cumsum/peer_cupy_lfilter", case, {}, {}, {"cupy"})


def ewm_case(dtype="f64", **params):
    known = {
        "agg": "mean",
        "n": 2000,
        "span": 0.0,
        "alpha": 0.0,
        "com": -1.0,
        "halflife": 0.0,
        "adjust": "true",
        "min_periods": 1,
        "incomplete": "nan",
        "nan": "decay",
        "segments": "none",
    }
    return {"op": "ewm", "params": {**known, **params}, "dtype": dtype, "input": "normal", "seed": 7}


def alpha_of(p):
    if p["alpha"] > 0:
        return p["alpha"]
    if p["com"] >= 0:
        return 1 / (1 + p["com"])
    if p["halflife"] > 0:
        return 1 - 0.5 ** (1 / p["halflife"])
    return 2 / ((p["span"] or 300) + 1)


def define_ewm(case, inputs):
    """Element by element from the definition; variances from the weights themselves."""
    p, x = case["params"], inputs["x"].astype("f8")
    q, incomplete = 1 - alpha_of(p), math.inf if p["incomplete"] == "inf" else math.nan
    y = numpy.full(x.size, incomplete)
    for i in range(x.size):
        w = q ** numpy.arange(i, -1, -1.0)
        if p["adjust"] == "false":
            w[1:] *= 1 - q
        seen = ~numpy.isnan(x[: i + 1])
        if seen.sum() < max(1, p["min_periods"]):
            continue
        w, v = w[seen] / w[seen].sum(), x[: i + 1][seen]
        mean = (w * v).sum()
        spread = 1 - (w * w).sum()
        var = (w * (v - mean) ** 2).sum() / spread if spread > 1e-12 else math.nan
        y[i] = {"mean": mean, "var": var, "std": math.sqrt(var) if var == var else var}[p["agg"]]
    return {"y": y}


CASES = [
    ewm_case(n=400),
    ewm_case("f32", n=300, span=30.0),
    ewm_case(n=1),
    ewm_case(n=300, alpha=0.1),
    ewm_case(n=300, com=5.0),
    ewm_case(n=300, halflife=4.0),
    ewm_case(n=300, span=1.0),
    ewm_case(n=300, span=20.0, adjust="false"),
    ewm_case(n=300, span=20.0, min_periods=20),
    ewm_case(n=300, span=20.0, min_periods=0, incomplete="inf"),
    ewm_case(n=300, span=20.0, min_periods=20, incomplete="inf"),
    ewm_case(n=0),
    ewm_case(n=3, min_periods=9),
]


VARIANCES = [ewm_case(n=300, span=20.0, agg=agg) for agg in ("var", "std")]


REFUSED = [ewm_case(segments="mask")]


def check_ewm(name, replaced, cases, tolerance=1e-9, planted=(), **more):
    for case in cases:
        x = numpy.random.default_rng(3).normal(size=case["params"]["n"]).astype(DTYPES[case["dtype"]])
        for place, value in planted:
            x[place] = value
        expected = define_ewm(case, {"x": x})
        actual = play(f"ewm/{name}", case, {"x": x, "starts": numpy.zeros(0, "u1")}, expected, replaced, **more)
        assert isinstance(actual, dict), actual
        bound = tolerance if case["dtype"] == "f64" else 2e-5
        numpy.testing.assert_allclose(actual["y"], expected["y"], rtol=bound, atol=bound, err_msg=str(case))
    for case in REFUSED:
        assert isinstance(play(f"ewm/{name}", case, {}, {}, replaced, **more), str)


@pytest.mark.skipif(not has("pandas"), reason="pandas is not installed")
def test_ewm_by_pandas():
    check_ewm("peer_pandas", {}, CASES + VARIANCES)


@pytest.mark.skipif(not has("pandas"), reason="pandas is not installed")
def test_pandas_with_gaps():
    gaps = [(0, math.nan), (1, math.nan), (50, math.nan), (51, math.nan)]
    cases = [ewm_case(n=100, span=9.0, min_periods=5, incomplete=word) for word in ("nan", "inf")]
    check_ewm("peer_pandas", {}, cases, planted=gaps)


@pytest.mark.skipif(not has("scipy"), reason="SciPy is not installed")
def test_ewm_by_scipy():
    check_ewm("peer_scipy_lfilter", {}, CASES)


@pytest.mark.skipif(not has("scipy"), reason="SciPy is not installed")
def test_ewm_by_cupy():
    check_ewm("peer_cupy_lfilter", {"cupy"}, CASES)


@pytest.mark.skipif(not has("torch"), reason="PyTorch is not installed")
def test_ewm_by_torch():
    check_ewm("peer_torch", {"torch"}, CASES)


@pytest.mark.skipif(not has("numba"), reason="Numba is not installed")
def test_numba_tile_in_the_simulator():
    tunables = {"threads": 32, "tile": 3}
    cases = [
        ewm_case(n=n, span=span, **more)
        for n, span, more in (
            (203, 3.0, {}),
            (10, 1.0, {}),
            (203, 1.5, {}),
            (97, 9.0, {"min_periods": 9}),
            (20, 12.0, {"incomplete": "inf", "min_periods": 3}),
        )
    ]
    check_ewm("peer_numba_cuda_tile", {}, cases, tolerance=2e-7, tunables=tunables)


@pytest.mark.skipif(not has("numba"), reason="Numba is not installed")
def test_numba_tile_refuses():
    """Where the published update divides 0 by 0, and where a window never has so many elements."""
    for span, tile, words in ((1.0, 3, "divides 0 by 0"), (3.0, 3, "min_periods=31")):
        case = ewm_case(n=203, span=span, min_periods=31)
        assert words in play("ewm/peer_numba_cuda_tile", case, {}, {}, {}, tunables={"threads": 32, "tile": tile})


@pytest.mark.skipif(not has("numba"), reason="Numba is not installed")
def test_too_much_shared_memory():
    tunables = {"threads": 64, "tile": 48}
    assert isinstance(play("ewm/peer_numba_cuda_tile", ewm_case(span=308.0), {}, {}, {}, tunables=tunables), str)
    assert "49152" in play("ewm/peer_numba_cuda_tile", ewm_case(span=308.0), {}, {}, {}, tunables=tunables)


@pytest.mark.skipif(not has("jax"), reason="JAX is not installed")
def test_a_sample_lasts_until_the_result_is_there():
    """JAX returns before it is done: the modes that wait must see more than the one that does not."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax
    import peer_libraries

    library, waited = peer_libraries.Jax(BUILD / "lib/librungs_measure.so"), []
    ready, result = jax.block_until_ready, jax.numpy.ones(3)
    library.ready = lambda kept: waited.append(kept is result) or ready(kept)
    assert library.sample("cold", lambda: result) > 0
    assert waited[:3] == [False, False, True]  # the flush, the device before the call, the result
    waited.clear()
    assert library.sample("complete", lambda: result) > 0
    assert waited[:2] == [False, True]  # the device before the call; then the result


@pytest.mark.skipif(not has("jax"), reason="JAX is not installed")
def test_modes():
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax
    import peer_libraries
    import peer_timing

    double, x = jax.jit(lambda array: array * 2), jax.numpy.ones(1000)
    command = {
        "modes": ["cold", "hot", "graph", "enqueue", "complete"],
        "min_samples": 3,
        "max_samples": 3,
        "seconds": 0.0,
    }
    timing = peer_timing.time_modes(
        types.SimpleNamespace(library=peer_libraries.Jax(BUILD / "lib/librungs_measure.so")),
        lambda: double(x),
        command,
        fetch=None,
    )
    for mode in ("cold", "hot", "enqueue", "complete"):
        assert (len(timing[mode]["samples"]), timing[mode]["clock"]) == (3, "steady clock")
        assert all(0 < s < 60 for s in timing[mode]["samples"]), timing[mode]
    assert "JAX" in timing["graph"]["why_none"]
