"""rungs exec on a user's own .npy files: right results, clear errors, nothing left behind."""

import io

import numpy as np
import pytest

from program import call, expect, expect_error, needs_emulator

VARIANT = "rolling/cpu_naive"


def rolling_mean(x, w):
    y = np.full(len(x), np.nan)
    for i in range(w - 1, len(x)):
        y[i] = x[i - w + 1 : i + 1].astype(np.float64).mean()
    return y


def execute(folder, *more, variant=VARIANT, inputs=("x=x.npy",), settings=("window=3",), out="y=y.npy"):
    """exec in the folder."""
    words = [word for item in inputs for word in ("--in", item)]
    words += [word for item in settings for word in ("--set", item)]
    return call("exec", variant, *words, "--out", out, *more, cwd=folder)


@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-13), ("float32", 1e-5)])
@pytest.mark.parametrize(
    "variant",
    [VARIANT, "rolling/cpu_best", pytest.param("rolling/cuda_block_prefix_suffix", marks=needs_emulator)],
)
def test_the_output_is_right(folder, variant, dtype, tolerance):
    x = np.random.default_rng(5).standard_normal(1000).astype(dtype)
    np.save(folder / "x.npy", x)
    more = ["--emulate"] if "cuda" in variant else []
    done = execute(folder, "--check", *more, variant=variant, settings=("agg=mean", "window=30"))
    expect(done.returncode == 0 and "check: y passes" in done.stdout, f"{variant} on {dtype}", done)
    y = np.load(folder / "y.npy")
    assert y.dtype == dtype and y.shape == x.shape
    np.testing.assert_allclose(y.astype(np.float64), rolling_mean(x, 30), rtol=0, atol=tolerance, equal_nan=True)


def test_no_elements_are_an_empty_output(folder):
    np.save(folder / "x.npy", np.zeros(0))
    done = execute(folder)
    expect(done.returncode == 0 and np.load(folder / "y.npy").shape == (0,), "n = 0", done)


def test_no_window_of_more_than_n_is_complete(folder):
    np.save(folder / "x.npy", np.ones(5))
    done = execute(folder, settings=("window=9", "incomplete=inf"))
    expect(done.returncode == 0 and np.isposinf(np.load(folder / "y.npy")).all(), "w > n", done)


def test_an_unsupported_case_is_a_skip_without_output(folder):
    np.save(folder / "x.npy", np.ones(50))
    expect_error(execute(folder, variant="rolling/cpu_best", settings=("agg=apply", "window=3")), 4, "skip: ")
    assert not (folder / "y.npy").exists()


@pytest.fixture
def refused(folder):
    """x.npy in a folder where nothing else is afterwards."""
    np.save(folder / "x.npy", np.arange(100.0))
    yield folder
    assert [path.name for path in folder.iterdir()] == ["x.npy"], "neither an output nor a part of one is left"


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


WHOLE = npy(np.arange(100.0))


@pytest.mark.parametrize(
    "file, words",
    {
        "int": (npy(np.arange(10)), ["dtype i64; float64, float32"]),
        "rank2": (npy(np.ones((3, 4))), ["one dimension"]),
        "complex": (npy(np.ones(3, complex)), []),
        "fortran": (npy(np.asfortranarray(np.ones((3, 4)))), []),
        "big": (npy(np.ones(4, ">f8")), ["endian"]),
        "cut": (WHOLE[:-5], []),
        "magic": (b"NOTNUMPY" + WHOLE[8:], ["does not begin with"]),
        "long": (WHOLE + b"x", []),
    }.values(),
    ids=["int", "rank2", "complex", "fortran", "big", "cut", "magic", "long"],
)
def test_a_file_that_is_no_such_array_is_named(refused, file, words):
    (refused / "x.npy").write_bytes(file)
    expect_error(execute(refused), 2, "x.npy", *words)


@pytest.mark.parametrize(
    "how, words",
    [
        ({"inputs": ["x=missing.npy"]}, ["missing.npy"]),
        ({"inputs": ["x=."]}, ["directory"]),
        ({"inputs": ["z=x.npy"]}, ["z", "known: x"]),
        ({"inputs": []}, ["input 'x' is missing"]),
        ({"settings": ["window=nan"]}, ["window", "nan", "integer"]),
        ({"settings": ["window=0"]}, ["window", "range"]),
        ({"settings": ["windw=3"]}, ["windw", "did you mean 'window'"]),
        ({"settings": ["agg=meen"]}, ["meen", "mean"]),
        ({"settings": ["window=3", "n=7"]}, ["n=7", "n=100"]),
        ({"variant": "rolling/cpu_nave"}, ["cpu_nave", "cpu_naive"]),
        ({"variant": "cpu_naive"}, ["did you mean 'rolling/cpu_naive'"]),
        ({"out": "q=y.npy"}, ["q", "known: y"]),
        ({"out": "y=nowhere/y.npy"}, ["nowhere/y.npy"]),
    ],
    ids=str,
)
def test_what_is_wrong_is_told(refused, how, words):
    expect_error(execute(refused, **how), 2, *words)


def test_outputs_do_not_overwrite_each_other(refused):
    both = {"variant": "discounted_cumsum_grad/cpu_best", "inputs": ["x=x.npy", "dy=x.npy"], "settings": []}
    done = execute(refused, "--out", "dgamma=both.npy", out="dx=both.npy", **both)
    expect_error(done, 2, "each output needs its own file", "dgamma")
