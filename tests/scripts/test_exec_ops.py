"""rungs exec for the ops with more than one array: pandas', SciPy's and the definition's answers, masks, what is refused and how it is said."""

import numpy as np
import pandas
import pytest
import scipy.stats

from program import EMULATOR, call, expect, expect_error

MOMENTS = ["mean", "var", "skewness", "kurtosis", "min", "max"]


class Bench:
    """A folder of .npy files and the command lines that use them."""

    def __init__(self, folder):
        self.folder = folder

    def execute(self, variant, arrays, outs, *settings, check=True, declared=False):
        words = ["exec", variant]
        for name, array in arrays.items():
            np.save(self.folder / f"{name}.npy", array)
            words += ["--in", f"{name}={self.folder / name}.npy"]
        for setting in settings:
            words += ["--set", setting]
        for name in outs:
            self.path(name).unlink(missing_ok=True)
            words += ["--out", f"{name}={self.path(name)}"]
        emulated = ["--emulate"] if "/cuda_" in variant else []
        return call(*words, *emulated, *(["--check"] if check else []), *(["--bounds=declared"] if declared else []))

    def path(self, name):
        return self.folder / f"out_{name}.npy"

    def agree(self, variant, arrays, wanted, *settings, rtol=1e-12, bound=None):
        done = self.execute(variant, arrays, wanted, *settings, declared=bound is not None or "power_sums" in variant)
        told = (
            f"{variant} {' '.join(settings)}: {', '.join(f'{k}{list(v.shape)} {v.dtype}' for k, v in arrays.items())}"
        )
        expect(done.returncode == 0 and all(f"check: {name} passes" in done.stdout for name in wanted), told, done)
        if bound:
            expect(f"of the bound '{bound}'" in done.stdout, f"judged by the bound {bound}", done)
        for name, values in wanted.items():
            values = np.asarray(values)
            got = np.load(self.path(name))
            expect(
                got.shape == values.shape and got.dtype == arrays["x"].dtype, f"{name} is {got.dtype}{list(got.shape)}"
            )
            np.testing.assert_allclose(
                got.astype(float),
                values,
                rtol=rtol,
                atol=rtol * np.nanmax(np.abs(values)),
                equal_nan=True,
                err_msg=told,
            )

    def refuse(self, variant, arrays, outs, *settings, words, code=2):
        """With --check and without: no number comes from inputs for which the op defines none."""
        for check in (True, False):
            done = self.execute(variant, arrays, outs, *settings, check=check)
            expect_error(done, code, *words, what=f"{variant} {' '.join(settings)} {list(arrays)}: {words}")
            expect(not any(self.path(name).exists() for name in outs), "what is refused leaves no output", done)


def variants_of(op, *names):
    return [f"{op}/{name}" for name in names if EMULATOR or not name.startswith("cuda_")]


@pytest.fixture
def bench(folder):
    return Bench(folder)


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def pandas_ewm(x, agg="mean", **how):
    return getattr(pandas.Series(x).ewm(**how), agg)().to_numpy()


def test_ewm_is_that_of_pandas(bench, rng):
    x = rng.standard_normal(700)
    x[[0, 7, 8, 300]] = np.nan
    for variant in variants_of(
        "ewm", "cpu_sequential", "cpu_best", "cuda_block_scan", "cuda_cub_scan", "cuda_log_stage"
    ):
        for settings, how in (
            (("span=20",), {"span": 20}),
            (("alpha=0.3", "adjust=false"), {"alpha": 0.3, "adjust": False}),
            (("com=4.5", "min_periods=12"), {"com": 4.5, "min_periods": 12}),
            (("halflife=3",), {"halflife": 3}),
        ):
            bench.agree(variant, {"x": x}, {"y": pandas_ewm(x, **how)}, *settings)
        bench.agree(variant, {"x": x}, {"y": pandas_ewm(x, "std", span=20)}, "span=20", "agg=std", rtol=1e-9)
    shown = pandas_ewm(x[1:7], span=20)
    whole = np.full(20, np.nan)
    whole[:6] = shown
    bench.agree("ewm/cpu_best", {"x": x[1:21]}, {"y": whole}, "span=20", "nan=propagate")
    starts = np.zeros(700, np.uint8)
    starts[[50, 51, 350]] = 1
    pieces = np.concatenate([pandas_ewm(piece, span=9) for piece in np.split(x, [50, 51, 350])])
    for variant in variants_of("ewm", "cpu_best", "cuda_block_scan"):
        bench.agree(variant, {"x": x, "starts": starts}, {"y": pieces}, "span=9")
        bench.agree(variant, {"x": x.astype("f4"), "starts": starts.astype(bool)}, {"y": pieces}, "span=9", rtol=3e-6)
    for variant in variants_of("ewm", "cuda_truncated_tile", "cuda_truncated_tile_closed_form"):
        finite = np.nan_to_num(x)
        bench.agree(variant, {"x": finite}, {"y": pandas_ewm(finite, span=12)}, "span=12", rtol=1e-7, bound="truncated")


@pytest.mark.parametrize(
    "settings, words",
    {
        ("span=10", "alpha=0.3"): ["at most one"],
        ("span=0.5",): ["span=0.5", "at least 1"],
        ("alpha=0",): ["alpha=0", "(0, 1]"],
        ("alpha=1.5",): ["alpha=1.5", "range"],
        ("com=-2",): ["com=-2"],
        ("halflife=0",): ["halflife=0", "halflife > 0"],
        ("half_life=3",): ["did you mean 'halflife'"],
        ("adjust=yes",): ["adjust='yes'", "true, false"],
        ("min_periods=-1",): ["min_periods=-1", "range"],
        ("nan=skip",): ["nan='skip'", "decay, propagate"],
        ("segments=mask",): ["'starts' is missing", "--in starts=FILE.npy", "u8[40]"],
        ("n=41",): ["n=41", "n=40"],
    }.items(),
    ids=str,
)
def test_settings_of_ewm_that_are_refused(bench, settings, words):
    bench.refuse("ewm/cpu_best", {"x": np.ones(40)}, ["y"], *settings, words=words)


def test_arrays_of_ewm_that_are_refused(bench):
    x, y, variant = {"x": np.ones(40)}, ["y"], "ewm/cpu_best"
    bench.refuse(variant, {**x, "starts": np.zeros(39, np.uint8)}, y, words=["starts", "[40]", "u8[39]"])
    bench.refuse(variant, {**x, "starts": np.zeros(40, np.int64)}, y, words=["starts.npy", "i64", "u8"])
    bench.refuse(variant, {"x": np.ones((4, 10))}, y, words=["x.npy", "one dimension"])
    bench.refuse(variant, {"starts": np.zeros(40, np.uint8)}, y, words=["'x' is missing"])


def discounted(x, gamma, left=False, terms=0, reset=None):
    """The definition, element by element."""
    gamma = np.broadcast_to(gamma.reshape(-1, 1) if gamma.ndim == 1 else gamma, x.shape)
    n = x.shape[1]
    y = np.zeros_like(x)
    step = -1 if left else 1
    for row in range(x.shape[0]):
        for i in range(n):
            weight, at, count = 1.0, i, 0
            while 0 <= at < n and (terms == 0 or count < terms):
                y[row, i] += weight * x[row, at]
                if reset is not None and reset[row, at]:
                    break
                weight *= gamma[row, at]
                at, count = at + step, count + 1
    return y


def test_discounted_cumsum_is_its_definition(bench, rng):
    x = rng.standard_normal((3, 90))
    reset = (rng.random(x.shape) < 0.05).astype(np.uint8)
    factors = {"one": np.array([0.9]), "row": np.array([0.9, 0.5, 1.0]), "element": rng.uniform(0.8, 1, x.shape)}
    for variant in variants_of(
        "discounted_cumsum",
        "cpu_sequential",
        "cpu_four_rows",
        "cpu_best",
        "cuda_block_scan",
        "cuda_log_stage_general",
        "cuda_log_stage_fused",
    ):
        for gamma in factors.values():
            bench.agree(variant, {"x": x, "gamma": gamma}, {"y": discounted(x, gamma)})
            bench.agree(
                variant,
                {"x": x, "gamma": gamma, "reset": reset},
                {"y": discounted(x, gamma, True, 0, reset)},
                "direction=left",
            )
        for terms in (7, 90, 91):
            bench.agree(variant, {"x": x}, {"y": discounted(x, factors["one"], terms=terms)}, "gamma=0.9", f"k={terms}")
    bench.agree(
        "discounted_cumsum/cpu_best", {"x": x[0]}, {"y": discounted(x[:1], factors["one"])[0]}, "gamma=0.9"
    )  # [n] in, [n] out
    bench.agree("discounted_cumsum/cpu_best", {"x": x, "gamma": np.array(0.9)}, {"y": discounted(x, factors["one"])})
    # What a variant makes of the discount it makes of the array's: 2^128 is no float, and 2^1024 no double.
    large = np.array([2.0])
    for name, dtype, terms, words in (
        ("cpu_best", "f4", 130, ["gamma=2", "^129", "f32"]),
        ("cuda_log_stage_general", "f8", 2250, ["gamma=2", "^1024", "f64"]),
    ):
        for variant in variants_of("discounted_cumsum", name):
            ones = np.ones((1, 2300), dtype)
            bench.refuse(variant, {"x": ones, "gamma": large.astype(dtype)}, ["y"], f"k={terms}", words=words, code=4)
    huge = np.array([1e200])  # any finite number is a discount
    bench.agree("discounted_cumsum/cpu_best", {"x": np.ones((1, 2)), "gamma": huge}, {"y": np.array([[1e200, 1]])})
    narrow = x.astype("f4")
    bench.agree(
        "discounted_cumsum/cpu_best",
        {"x": narrow, "gamma": np.array([0.9], "f4")},
        {"y": discounted(x, np.array([0.9]))},
        "reference=unrounded",
        rtol=1e-6,
    )
    bench.agree(
        "discounted_cumsum/cpu_best",
        {"x": narrow, "reset": reset},
        {"y": discounted(x, factors["one"], reset=reset)},
        "gamma=0.9",
        rtol=1e-6,
    )
    for variant in variants_of("discounted_cumsum", "cuda_cub_scan"):
        bench.agree(variant, {"x": x, "gamma": factors["row"]}, {"y": discounted(x, factors["row"])})
        bench.refuse(variant, {"x": x}, ["y"], "k=3", words=["skip: k=3"], code=4)


def columns(x, gamma, initial, left, reset):
    """x and gamma [T, D]: each position from the one before, and what the last one leaves."""
    y, carried = np.empty_like(x), initial.copy()
    for t in range(len(x)) if left else reversed(range(len(x))):
        carried = x[t] + np.where(reset[t], 0, gamma[t]) * carried
        y[t] = carried
    return y, carried


@pytest.mark.parametrize("variant", variants_of("discounted_cumsum", "cpu_sequential", "cuda_column_tiles"))
def test_columns_and_states_of_discounted_cumsum(bench, rng, variant):
    x = rng.standard_normal((700, 37))
    gamma, initial, reset = rng.uniform(0.8, 1, x.shape), rng.standard_normal(37), rng.random(x.shape) < 0.01
    for left in (True, False):
        settings = ("layout=time_major", f"direction={'left' if left else 'right'}")
        y, final = columns(x, gamma, initial, left, reset)
        given = {"x": x, "gamma": gamma, "reset": reset.astype(np.uint8), "initial": initial}
        bench.agree(variant, given, {"y": y, "final": final}, *settings)
        narrow = {name: array.astype("f4") if array.dtype == "f8" else array for name, array in given.items()}
        bench.agree(variant, narrow, {"y": y, "final": final}, *settings, rtol=2e-6)
        y, _ = columns(x, gamma, np.zeros(37), left, np.zeros(x.shape, bool))
        bench.agree(variant, {"x": x, "gamma": gamma}, {"y": y}, *settings)
        # The state behind a part of the sequence is the state before the rest.
        parts = (slice(0, 300), slice(300, 700)) if left else (slice(300, 700), slice(0, 300))
        y, carried = columns(x, gamma, initial, left, reset)[0], initial
        for part in parts:
            given = {"x": x[part], "gamma": gamma[part], "reset": reset[part].astype(np.uint8), "initial": carried}
            after = columns(x[part], gamma[part], carried, left, reset[part])[1]
            bench.agree(variant, given, {"y": y[part], "final": after}, *settings)
            carried = np.load(bench.path("final"))
    empty = {"x": np.zeros((0, 3)), "gamma": np.zeros((0, 3)), "initial": np.arange(3.0)}
    done = bench.execute(variant, empty, ["final"], "layout=time_major", check=False)
    expect(done.returncode == 0 and np.load(bench.path("final")).tolist() == [0, 1, 2], "nothing was done to it", done)


def test_states_of_rows(bench, rng):
    x, gamma, initial = rng.standard_normal((3, 90)), rng.uniform(0.8, 1, (3, 90)), rng.standard_normal(3)
    y, final = columns(x.T, gamma.T, initial, False, np.zeros((90, 3), bool))
    bench.agree(
        "discounted_cumsum/cpu_sequential", {"x": x, "gamma": gamma, "initial": initial}, {"y": y.T, "final": final}
    )


@pytest.mark.parametrize(
    "more, settings, words, code",
    [
        ({}, ("layout=time_major",), ["skip: does not take layout=time_major", ".options"], 4),
        ({"initial": np.ones(4)}, (), ["skip: does not take state=both", ".options"], 4),
        ({"initial": np.ones(7)}, (), ["initial: [batch] is expected, not f64[7]"], 2),
        ({"initial": np.ones(4, "f4")}, (), ["initial", "f32"], 2),
        ({"initial": np.ones(4)}, ("k=3",), ["k=3", "state=both", "k=0"], 2),
        ({}, ("k=3", "layout=time_major"), ["k=3", "layout=time_major", "k=0"], 2),
        ({}, ("state=both",), ["initial: missing", "[batch]"], 2),
        ({"initial": np.ones(4)}, ("state=none",), ["state=none, but the inputs say state=both"], 2),
    ],
    ids=str,
)
def test_options_that_are_refused(bench, more, settings, words, code):
    bench.refuse(
        "discounted_cumsum/cpu_best", {"x": np.ones((4, 30)), **more}, ["y"], *settings, words=words, code=code
    )


def test_a_library_takes_no_option_that_it_does_not_name(bench):
    words = ["skip: does not take layout=time_major", 'VARIANT["options"]']
    bench.refuse(
        "discounted_cumsum/peer_scipy_lfilter", {"x": np.ones((4, 3))}, ["y"], "layout=time_major", words=words, code=4
    )


def test_an_output_that_the_case_has_not(bench):
    x = {"x": np.ones((2, 30))}
    bench.refuse("discounted_cumsum/cpu_best", x, ["final"], words=["--out final=", "this case has no such output"])


def test_the_gradient_is_the_slope(bench, rng):
    x, dy = rng.standard_normal((2, 2, 40))
    step = 1e-5
    all_terms = ("cuda_block_scan", "cuda_cub_scan", "cuda_log_stage_general", "cuda_log_stage_fused")
    tried = [
        (variant, 0) for variant in variants_of("discounted_cumsum_grad", "cpu_sequential", "cpu_best", *all_terms)
    ]
    tried += [
        (variant, 20) for variant in variants_of("discounted_cumsum_grad", "cpu_sequential", "cpu_best", "cuda_windows")
    ]
    for variant, terms in tried:
        for gamma in (np.array([0.9]), np.array([0.9, 0.7]), rng.uniform(0.8, 1, x.shape)):
            slopes = np.zeros_like(gamma)  # the loss is a polynomial: central differences err by step^2
            for at in np.ndindex(gamma.shape):
                moved = [gamma.copy(), gamma.copy()]
                moved[0][at] += step
                moved[1][at] -= step
                slopes[at] = (
                    (discounted(x, moved[0], terms=terms) - discounted(x, moved[1], terms=terms)) * dy
                ).sum() / (2 * step)
            done = bench.execute(variant, {"x": x, "gamma": gamma, "dy": dy}, ["dx", "dgamma"], f"k={terms}")
            expect(
                done.returncode == 0 and "check: dgamma passes" in done.stdout,
                f"{variant}, gamma {list(gamma.shape)}, k={terms}",
                done,
            )
            np.testing.assert_allclose(np.load(bench.path("dgamma")), slopes, rtol=1e-6, atol=1e-6)
            unit = np.zeros_like(x)
            unit[1, 5] = 1
            np.testing.assert_allclose(
                np.load(bench.path("dx"))[1, 5], (discounted(unit, gamma, terms=terms) * dy).sum(), rtol=1e-12
            )


def test_an_infinity_that_all_terms_carry_and_windows_meet(bench):
    # k = n are k terms: windows of both signs meet the infinity. All terms carry it to what they all send back, 0.5 * 4 - 1.
    all_terms = ("cuda_block_scan", "cuda_cub_scan", "cuda_log_stage_general", "cuda_log_stage_fused")
    infinite, back = np.array([[np.inf, 1, 1]]), np.array([[1.0, -1, 4]])
    for variant in variants_of("discounted_cumsum_grad", "cpu_sequential", "cpu_best", *all_terms, "cuda_windows"):
        name = variant.split("/")[1]
        for terms, second in ((0, np.inf), (3, np.nan), (4, np.inf)):
            if name in all_terms if terms == 3 else name == "cuda_windows":
                words = ["skip: k=3", "cuda_windows"] if terms == 3 else ["skip: sums of all terms"]
                bench.refuse(
                    variant,
                    {"x": infinite, "gamma": np.array([0.5]), "dy": back},
                    ["dgamma"],
                    f"k={terms}",
                    words=words,
                    code=4,
                )
                continue
            bench.agree(
                variant,
                {"x": infinite, "gamma": np.full((1, 3), 0.5), "dy": back},
                {"dgamma": np.array([[0, second, np.inf]])},
                "direction=left",
                f"k={terms}",
            )


def test_an_infinity_stays_one(bench):
    # An infinity whose way through a window underflows, and windows that end past the row: it stays an infinity.
    x, dy = np.ones((1, 402)), np.ones((1, 402))
    x[0, 200] = np.inf
    for variant in variants_of("discounted_cumsum_grad", "cuda_windows"):
        for direction in ("left", "right"):
            done = bench.execute(
                variant, {"x": x, "gamma": np.array([1e-3]), "dy": dy}, ["dgamma"], f"direction={direction}", "k=300"
            )
            expect(
                done.returncode == 0 and np.load(bench.path("dgamma"))[0] == np.inf,
                f"{variant}, {direction}: dgamma is infinite",
                done,
            )


def test_what_discounted_cumsum_refuses(bench):
    x = {"x": np.ones((3, 8))}
    variant, y = "discounted_cumsum/cpu_best", ["y"]
    for more, words in (
        ({"gamma": np.ones(4)}, ["gamma", "[1], [batch]", "f64[4]"]),
        ({"gamma": np.ones(1, "f4")}, ["gamma.npy", "f32", "f64"]),
        ({"gamma": np.array([1])}, ["gamma.npy", "i64", "float64"]),
        ({"reset": np.ones(8, np.uint8)}, ["reset", "u8[8]", "f64[3, 8]"]),
        ({"reset": np.ones((3, 8), np.int32)}, ["reset.npy", "i32", "u8"]),
        ({"x": np.ones((2, 2, 2))}, ["x.npy", "[batch, n]", "3"]),
    ):
        bench.refuse(variant, {**x, **more}, y, words=words)
    one = {"gamma": np.array([0.9])}
    bench.refuse(variant, one, y, words=["x: missing"])
    bench.refuse(variant, {**x, **one}, y, "gamma=0.5", words=["--set gamma=0.5", "--in gamma", "only one of the two"])
    bench.refuse(variant, {**x, **one}, y, "gamma_per=row", words=["gamma_per=row", "gamma_per=all"])
    bench.refuse(variant, x, y, "gamma_per=row", words=["'gamma' is missing", "f64[3]"])
    bench.refuse(variant, x, y, "reset=mask", words=["'reset' is missing", "u8[3, 8]"])
    bench.refuse(
        variant,
        {**x, "gamma": np.ones(3)},
        y,
        "reference=unrounded",
        words=["reference=unrounded", "gamma_per=row", "gamma_per=all"],
    )
    bench.refuse(variant, {"x": np.ones((3, 8), "f4")}, y, "gamma=1e39", words=["gamma=1e+39 is no f32"])
    bench.refuse(variant, x, y, "direction=up", words=["direction='up'", "right, left"])
    bench.refuse(variant, x, y, "k=-1", words=["k=-1", "range"])
    bench.refuse(variant, x, ["dx"], words=["dx", "known: y"])
    grad, out = "discounted_cumsum_grad/cpu_best", ["dx", "dgamma"]
    bench.refuse(grad, x, out, words=["dy: missing"])
    bench.refuse(grad, {**x, "dy": np.ones((2, 8))}, out, words=["dy", "f64[2, 8]", "f64[3, 8]"])
    bench.refuse(grad, {**x, "dy": np.ones((3, 8), "f4")}, out, words=["dy.npy", "f32", "f64"])


def weighted(x, w):
    mean = np.average(x, axis=0, weights=w)
    power = {p: np.average((x - mean) ** p, axis=0, weights=w) for p in (2, 3, 4)}
    return dict(
        zip(
            MOMENTS,
            (mean, power[2], power[3] / power[2] ** 1.5, power[4] / power[2] ** 2, x.min(axis=0), x.max(axis=0)),
        )
    )


def test_moments_are_those_of_scipy(bench, rng):
    x = rng.gamma(2, size=(61, 5)) + 3
    w = rng.uniform(0.5, 2, 61)
    scipys = dict(
        zip(
            MOMENTS,
            (
                x.mean(axis=0),
                x.var(axis=0),
                scipy.stats.skew(x),
                scipy.stats.kurtosis(x, fisher=False),
                x.min(axis=0),
                x.max(axis=0),
            ),
        )
    )
    for variant in variants_of(
        "moments",
        "cpu_two_pass",
        "cpu_best",
        "cuda_two_pass_grid",
        "cuda_welford",
        "cuda_cub_segmented_reduce",
        "cuda_one_read_blocked",
        "cuda_power_sums",
    ):
        bench.agree(variant, {"x": x}, scipys, rtol=1e-9)
        bench.agree(variant, {"x": x, "weights": w}, weighted(x, w), rtol=1e-9)
    bench.agree("moments/cpu_best", {"x": x.astype("f4")}, scipys, rtol=1e-4)
    bench.agree(
        "moments/cpu_best", {"x": x[:, 0]}, {name: values[:1] for name, values in scipys.items()}, rtol=1e-9
    )  # one column
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    bench.agree(
        "moments/cpu_best", {"x": x}, {"m5": (z**5).mean(axis=0), "m6": (z**6).mean(axis=0)}, "order=6", rtol=1e-9
    )
    bench.agree("moments/cpu_power_sums_row_order", {"x": x}, {"mean": scipys["mean"]})
    for variant in variants_of("moments", "cuda_two_pass"):
        bench.agree(variant, {"x": x}, scipys, rtol=1e-9)
        bench.refuse(variant, {"x": x, "weights": w}, MOMENTS, words=["skip: weights"], code=4)


def test_what_moments_refuses(bench):
    x = {"x": np.ones((6, 3))}
    variant, out = "moments/cpu_best", ["mean"]
    for more, words in (
        ({"weights": np.ones(3)}, ["weights", "[6]", "f64[3]"]),
        ({"weights": -np.ones(6)}, ["weights[0] is -1", "positive"]),
        ({"weights": np.array([1, 1, 0.0, 1, 1, 1])}, ["weights[2] is 0", "positive"]),
        ({"weights": np.full(6, np.inf)}, ["weights[0] is inf"]),
        ({"weights": np.array([1, 1, 1, 1, 1e-100, 1e300])}, ["from 1e-100 to 1e+300", "2^600"]),
        ({"weights": np.full(6, np.nan)}, ["weights[0] is nan"]),
        ({"weights": np.ones(6, "f4")}, ["weights.npy", "f32", "f64"]),
        ({"x": np.ones((6, 0))}, ["x.npy", "cols=0"]),
        ({"x": np.ones((2, 2, 2))}, ["x.npy", "[rows, cols]", "3"]),
        ({"x": np.ones((2, 2), int)}, ["x.npy", "i64", "float64"]),
    ):
        bench.refuse(variant, {**x, **more}, out, words=words)
    bench.refuse(variant, x, out, "order=7", words=["order=7", "4 to 6"])
    bench.refuse(variant, x, out, "weights=row", words=["weights=row", "weights=none"])
    bench.refuse(variant, {"weights": np.ones(6)}, out, words=["x: missing"])
