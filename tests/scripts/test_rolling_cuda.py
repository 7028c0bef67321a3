"""The CUDA ladder of rolling in the emulator, where edges/rolling.yaml does not reach: windows longer than a block of block prefix/suffix, with
few and many blocks between; what the published kernels must fail at, and the others not; the largest windows that fit."""

import numpy
import pytest

from program import call, emulate, emulate_each, expect, needs_emulator, rows_of

pytestmark = needs_emulator

STABLE = (
    "cuda_naive",
    "cuda_shared",
    "cuda_thread_tile_stable",
    "cuda_block_prefix_suffix",
    "cuda_warp_unit",
    "cuda_published_tiles",
)
FRAGILE = ("cuda_thread_tile", "cuda_thread_tile_sums", "cuda_thread_tile_sums padded=1", "cuda_prefix_difference")

# With 32 threads a block has 480 outputs (288 for moments): its windows are long from 961 (577) on, and its chunks are scanned where more
# than 31 blocks lie between a window's first and last.
LONG = """
title: Long windows
about: Both sides of every switch in cuda_block_prefix_suffix
suites:
  - op: rolling
    axes: {agg: [mean, std, min], dtype: [f64, f32], input: [naninf]}
    tied:
      - {n: 20011, window: 577}
      - {n: 20011, window: 578}
      - {n: 20011, window: 961}
      - {n: 20011, window: 962}
      - {n: 20011, window: 9793}
      - {n: 20011, window: 15361}
      - {n: 20011, window: 15841}
      - {n: 20011, window: 15842}
      - {n: 20160, window: 20159}
      - {n: 20160, window: 20160}
      - {n: 20160, window: 20161}
    variants: [cuda_block_prefix_suffix threads=32]
"""
UNITS = """
title: Units
about: Both sides of every switch in cuda_warp_unit, middles with and without a rest, one block and several
suites:
  - op: rolling
    axes: {agg: [sum, std, max], dtype: [f64, f32], input: [naninf], n: [3001], window: [3, 4, 9, 10, 36, 37, 65, 66, 120, 121, 288, 289, 401, 720, 721, 865, 1024, 1025, 1501, 1901, 1921]}
    variants: [cuda_warp_unit threads=64]
  - op: rolling
    axes: {agg: [mean, var], dtype: [f64, f32], input: [naninf], n: [8001], window: [3001, 4501, 7001]}
    variants: [cuda_warp_unit]
"""

# With 32 threads a tile has at most 864 elements (992 in float32, and of var). From 128 tiles a middle on, groups of tiles are published.
TILES = """
title: Tiles
about: Both sides of every switch in cuda_published_tiles, middles with and without a tail, tiles that end with the array and before it
suites:
  - op: rolling
    axes: {agg: [sum, std, max], dtype: [f64, f32], input: [naninf], n: [3001], window: [65, 865, 882, 993, 1985, 2593, 3000, 3001]}
    variants: [cuda_published_tiles threads=32, cuda_published_tiles threads=64]
  - op: rolling
    axes: {dtype: [f64], input: [uniform]}
    tied:
      - {agg: sum, n: 140000, window: 115001}
      - {agg: var, n: 135000, window: 130001}
    variants: ["cuda_published_tiles threads=32"]
  - op: rolling
    axes: {agg: [mean, var], dtype: [f64, f32], input: [naninf], n: [30011], window: [65, 700]}
    variants: ["cuda_published_tiles threads=32 strips=2"]
"""


@pytest.mark.parametrize("text, cases", [(LONG, 66), (UNITS, 138), (TILES, 106)], ids=["long", "units", "tiles"])
def test_both_sides_of_every_switch(folder, text, cases):
    done, rows = emulate(folder, text)
    expect(done.returncode == 0 and [row["verdict"] for row in rows] == ["pass"] * cases, f"{cases} windows", done)


@pytest.mark.parametrize("agg", ["sum", "std", "max"])
def test_published_tiles_a_block_at_a_time(folder, agg, monkeypatch):
    """A block that starts alone, in any order, finds nothing published and sums up by itself what it waits for."""
    monkeypatch.setenv("RUNGS_EMULATOR_BLOCKS", "1")
    monkeypatch.setenv("RUNGS_EMULATOR_SEED", "7")
    case = f"rolling agg={agg} n=3001 window=1500 input=naninf"
    done, _ = emulate(folder, case, "cuda_published_tiles threads=32")
    expect(done.returncode == 0 and "1 passed" in done.stdout, f"a block at a time: {agg}", done)


@pytest.mark.parametrize("variant", ["cuda_warp_unit", "cuda_published_tiles"])
def test_the_variance_beside_outliers(folder, variant):
    """The shift of var is no element of its own: one that is 1e8 times its neighbours would cost the accuracy of a whole window."""
    x = numpy.random.default_rng(1).standard_normal(9000)
    x[[5759, 5760, 7680]] = 1e8
    numpy.save(folder / "x.npy", x)
    words = ("--set", "agg=var", "--set", "window=3000", "--in", f"x={folder}/x.npy", "--out", f"y={folder}/y.npy")
    done = call("exec", f"rolling/{variant}", *words, "--check", "--emulate")
    expect(done.returncode == 0, f"{variant}: the variance beside outliers", done)


@pytest.mark.parametrize("agg", ["mean", "var"])
def test_who_keeps_nan_and_inf_in_their_windows(folder, agg):
    done, found = emulate_each(folder, f"rolling agg={agg} n=3073 window=49 input=naninf", *STABLE, *FRAGILE)
    for variant in STABLE:
        expect(found[variant]["verdict"] == "pass", f"{variant} keeps NaN and inf in their windows", done)
    for variant in FRAGILE:
        expect(found[variant]["verdict"] == "fail", f"{variant} lets NaN and inf out of their windows", done)


def test_maxima_are_exact(folder):
    done, found = emulate_each(folder, "rolling agg=max n=3073 window=49 input=naninf", *STABLE, *FRAGILE)
    expect({found[variant]["verdict"] for variant in STABLE + FRAGILE[:3]} == {"pass"}, "maxima are exact", done)
    expect(found["cuda_prefix_difference"]["verdict"] == "skip", "max has no difference", done)


@pytest.mark.parametrize(
    "n, window, verdict",
    [
        (30000, 25985, "pass"),  # 227 KiB: 64 x 48 + 25985 - 1 doubles
        (30000, 25986, "skip"),
        (25985, 25986, "pass"),  # a window longer than the array needs no memory
    ],
)
def test_the_largest_window_that_fits(folder, n, window, verdict):
    done, found = emulate_each(folder, f"rolling agg=mean n={n} window={window}", "cuda_thread_tile")
    row = found["cuda_thread_tile"]
    told = verdict == "pass" or "largest window is 25985" in row["reason"]
    expect(row["verdict"] == verdict and told, f"n={n} window={window}: {verdict}", done)


def test_variances_keep_far_from_their_bound(folder):
    """A unit's windows share enough elements that none of these, alone, is the shift; nor is an outlier that of all of its unit."""
    windows, seeds = (4, 5, 6, 8, 10, 13, 14, 15, 16, 17, 20, 23, 33, 64), range(1, 7)
    cases = [
        f"rolling agg=var n=1500 window={w} dtype={dtype} input={family} seed={seed}"
        for w in windows
        for dtype in ("f64", "f32")
        for family in ("normal", "mixed", "heavytail")
        for seed in seeds
    ]
    out = folder / "rows.jsonl"
    done = call("run", *cases, "--variants", "cuda_warp_unit", "--emulate", "--verify-only", "--out", out)
    expect(done.returncode == 0, "all arrays pass", done)
    ratios = {row["case"]: row["errors"]["y"]["max_ratio"] for row in rows_of(out)}
    assert len(ratios) == len(cases) and max(ratios.values()) < 0.8, max(ratios, key=ratios.get)
