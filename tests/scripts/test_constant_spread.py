"""The variance and standard deviation of equal numbers are 0, to the bit: no bound asks for it, but who divides by them meets the rest."""

import json

import numpy as np

from program import EMULATOR, call

VALUES = (14.3, 1 / 3)  # neither is a short fraction
BY_SQUARES = ("cpu_power_sums",)  # E[x^2] - E[x]^2 leaves a rounding error, as its bound says
EWM = ["", "adjust=false", "nan=propagate"]


def variants(op, backend):
    known = json.loads(call("list", "variants", "--json").stdout)
    return [
        v["id"]
        for v in known
        if v["id"].startswith(f"{op}/{backend}_") and not v["id"].split("/")[1].startswith(BY_SQUARES)
    ]


def spread(folder, variant, x, output, *settings):
    np.save(folder / "x.npy", x)
    words = [word for setting in settings if setting for word in ("--set", setting)]
    done = call(
        "exec",
        variant,
        "--in",
        f"x={folder}/x.npy",
        "--out",
        f"{output}={folder}/y.npy",
        *words,
        *(["--emulate"] if "/cuda_" in variant else []),
    )
    if done.returncode == 4:
        return None  # what the variant does not support
    assert done.returncode == 0, done
    return np.load(folder / "y.npy")


def expect_zero(y, first, what):
    assert np.array_equal(y[first:], np.zeros_like(y[first:])), (
        f"{what}: up to {np.nanmax(np.abs(y[first:]))} in {np.count_nonzero(y[first:])} of {y[first:].size}"
    )


def test_ewm(folder):
    tried = 0
    for variant in variants("ewm", "cpu") + (variants("ewm", "cuda") if EMULATOR else []):
        sizes = (1000,) if "/cuda_" in variant else (60, 1000)
        cases = (
            [(n, dtype, value, how) for n in sizes for dtype in ("f8", "f4") for value in VALUES for how in EWM]
            if "/cpu_" in variant
            else [(300, "f8", VALUES[0], "")]
        )
        for n, dtype, value, how in cases:
            for agg in ("std", "var"):
                x = np.full(n, value, dtype)
                y = spread(folder, variant, x, "y", "span=9", f"agg={agg}", how)
                if y is None:
                    continue
                expect_zero(y, 1, f"{variant}, {agg} of {n} x {x[0]}, {how}")
                tried += 1
    assert tried > 90


def test_ewm_with_gaps(folder):
    for variant in variants("ewm", "cpu"):
        for dtype in ("f8", "f4"):
            x = np.full(400, VALUES[0], dtype)
            x[[0, 7, 8, 30]] = np.nan
            x[50:200] = np.nan
            expect_zero(spread(folder, variant, x, "y", "span=9", "agg=std"), 2, f"{variant}, gaps, {dtype}")


def test_ewm_blocks_of_several_threads(folder):
    for dtype in ("f8", "f4"):
        for how in EWM:
            x = np.full(1 << 19, VALUES[0], dtype)
            expect_zero(
                spread(folder, "ewm/cpu_best", x, "y", "span=300", "agg=std", "threads=4", how),
                1,
                f"blocks, {dtype}, {how}",
            )


def test_rolling(folder):
    for variant in variants("rolling", "cpu"):
        for dtype in ("f8", "f4"):
            for window in (20, 100):
                x = np.full(3000, VALUES[1], dtype)
                y = spread(folder, variant, x, "y", f"window={window}", "agg=std")
                if y is not None:
                    expect_zero(y, window - 1, f"{variant}, window={window}, {dtype}")


def test_moments(folder):
    for variant in variants("moments", "cpu"):
        for dtype in ("f8", "f4"):
            expect_zero(spread(folder, variant, np.full((1001, 3), VALUES[0], dtype), "var"), 0, f"{variant}, {dtype}")
