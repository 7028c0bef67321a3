"""rungs exec moments on real tables: six statistics per column against SciPy; weights, orders 5 and 6, one column, conventions, errors."""

import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn import datasets

from program import BUILD, EMULATOR, call, expect, expect_error, rows_of

TABLES = {"wine": datasets.load_wine, "breast_cancer": datasets.load_breast_cancer, "digits": datasets.load_digits}
VARIANTS = ["cpu_best", "cpu_two_pass", "cpu_pairwise"]
SIX = ["mean", "var", "skewness", "kurtosis", "min", "max"]


def scipy_six(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant columns of digits: NaN there and here
        return [
            np.mean(x, axis=0),
            np.var(x, axis=0),
            stats.skew(x),
            stats.kurtosis(x, fisher=False),
            x.min(axis=0),
            x.max(axis=0),
        ]


def execute(folder, variant, arrays, outputs, *settings, check=True):
    """The outputs of one run, by name."""
    words = ["exec", f"moments/{variant}"]
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
        words += ["--in", f"{name}={folder / name}.npy"]
    for setting in settings:
        words += ["--set", setting]
    for name in outputs:
        (folder / f"out_{name}.npy").unlink(missing_ok=True)
        words += ["--out", f"{name}={folder}/out_{name}.npy"]
    if variant.startswith("cuda"):
        words.append("--emulate")
    done = call(*words, *(["--check"] if check else []))
    expect(
        done.returncode == 0, f"{variant} {' '.join(settings)} runs" + (" and keeps its bound" if check else ""), done
    )
    return {name: np.load(folder / f"out_{name}.npy") for name in outputs}


def close(got, wanted, relative, what):
    wanted = np.asarray(wanted, dtype=np.float64)
    expect(got.shape == wanted.shape, f"{what}: shape {got.shape}")
    scale = np.abs(wanted) + (1 if "skewness" in what or "m5" in what else 0)  # odd moments may be next to 0
    wrong = ~((np.abs(got.astype(np.float64) - wanted) <= relative * scale) | (np.isnan(got) & np.isnan(wanted)))
    expect(
        not wrong.any(),
        f"{what}: as SciPy has it" if not wrong.any() else f"{what}: {got[wrong]} is not {wanted[wrong]}",
    )


@pytest.mark.parametrize("dtype, relative", [("float64", 1e-11), ("float32", 1e-5)])
@pytest.mark.parametrize("table", TABLES)
def test_six_statistics_of_a_table_are_those_of_scipy(folder, table, dtype, relative):
    x = TABLES[table]().data.astype(dtype)
    wanted = scipy_six(x.astype(np.float64))
    for variant in VARIANTS + (["cuda_two_pass_grid"] if EMULATOR and table == "wine" else []):
        got = execute(folder, variant, {"x": x}, SIX)
        for output, column in zip(SIX, wanted):
            close(got[output], column, relative, f"{variant}, {output}")


@pytest.mark.parametrize("name", TABLES)
def test_a_family_of_the_shape_of_its_table_is_the_table(folder, name):
    table = TABLES[name]().data
    out = folder / "rows.jsonl"
    case = f"moments rows={table.shape[0]} cols={table.shape[1]} dtype=f64 input=real:{name}"
    done = call("run", case, "--variants", "cpu_best", "--verify-only", "--out", out)
    expect(done.returncode == 0 and [row["verdict"] for row in rows_of(out)] == ["pass"], f"real:{name} passes", done)
    kept = np.load(BUILD / "real" / f"{name}.npy")
    expect(np.array_equal(kept.reshape(table.shape), table), f"real:{name} is the table, row by row")


@pytest.mark.parametrize("variant", VARIANTS)
def test_weights_and_orders_to_6(folder, variant):
    x = datasets.load_wine().data
    w = np.random.default_rng(3).uniform(0.5, 1.5, len(x))
    mean = np.average(x, axis=0, weights=w)
    central = {p: np.average((x - mean) ** p, axis=0, weights=w) for p in range(2, 7)}
    wanted = {"mean": mean, "var": central[2], "min": x.min(axis=0), "max": x.max(axis=0)}
    for output, p in (("skewness", 3), ("kurtosis", 4), ("m5", 5), ("m6", 6)):
        wanted[output] = central[p] / central[2] ** (p / 2)
    got = execute(folder, variant, {"x": x, "weights": w}, list(wanted), "order=6")
    for output, column in wanted.items():
        close(got[output], column, 1e-11, f"weighted {output}")
    plain = execute(folder, variant, {"x": x}, ["m5", "m6"], "order=6")
    spread = np.std(x, axis=0)
    close(plain["m5"], stats.moment(x, 5) / spread**5, 1e-10, "m5")
    close(plain["m6"], stats.moment(x, 6) / spread**6, 1e-10, "m6")


def test_one_column(folder):
    x = datasets.load_wine().data
    column = execute(folder, "cpu_best", {"x": x[:, 4].copy()}, SIX)
    for output, wanted in zip(SIX, scipy_six(x[:, 4:5])):
        close(column[output], wanted, 1e-11, f"one column, {output}")


def test_a_constant_column_has_no_kurtosis(folder):
    x = {"x": np.full((50, 2), 0.1)}
    assert np.isnan(execute(folder, "cpu_best", x, ["kurtosis"])["kurtosis"]).all()
    assert (execute(folder, "cpu_best", x, ["kurtosis"], "degenerate=zero")["kurtosis"] == 0).all(), "or 0 on request"
    assert (execute(folder, "cpu_best", x, ["var"])["var"] == 0).all(), "and its variance is 0 exactly"


def test_no_rows_are_nan_for_every_column(folder):
    empty = execute(folder, "cpu_best", {"x": np.zeros((0, 3))}, SIX)
    assert all(np.isnan(empty[output]).all() and empty[output].shape == (3,) for output in SIX)


def test_what_is_wrong_is_refused(folder):
    x = folder / "x.npy"

    def attempt(array, *more):
        np.save(x, array)
        return call("exec", "moments/cpu_best", "--in", f"x={x}", "--out", f"mean={folder}/bad.npy", *more)

    expect_error(attempt(np.zeros((2, 3, 4))), 2, "two dimensions")
    expect_error(attempt(np.zeros((4, 0))), 2, "cols")
    np.save(folder / "w.npy", np.ones(5))
    expect_error(attempt(np.ones((4, 2)), "--in", f"weights={folder}/w.npy"), 2, "weights", "[4]", "[5]")
    expect_error(attempt(np.ones((4, 2)), "--set", "rows=5"), 2, "rows=5", "rows=4")
    np.save(folder / "w.npy", np.array([1.0, 1, -1, 1]))
    expect_error(attempt(np.ones((4, 2)), "--in", f"weights={folder}/w.npy", "--check"), 2, "weights[2]", "positive")
    expect(not (folder / "bad.npy").exists(), "no attempt left an output")
