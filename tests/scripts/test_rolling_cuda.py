"""The CUDA ladder of rolling in the emulator, where edges/rolling.yaml does not reach: windows longer than a block of block prefix/suffix, with
few and many blocks between; what the published kernels must fail at, and the others not; the largest windows that fit."""

import os
import pathlib
import sys
import tempfile

import numpy

from program import BUILD, call, expect, rows_of

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


def name_of(row):
    return row["variant"].split("/")[1] + (" padded=1" if row["tunables"].get("padded") else "")


def run(folder, what, variants):
    out = folder / "rows.jsonl"
    out.unlink(missing_ok=True)
    done = call("run", what, "--variants", ",".join(variants), "--emulate", "--verify-only", "--out", out, cwd=folder)
    return done, {name_of(row): row for row in rows_of(out)} if out.exists() else {}


def main():
    if not (BUILD / "bin" / "rungs-emulator").exists():
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "long.yaml").write_text(LONG)
        out = folder / "long.jsonl"
        done = call("run", folder / "long.yaml", "--emulate", "--verify-only", "--out", out)
        verdicts = [row["verdict"] for row in rows_of(out)]
        expect(done.returncode == 0 and verdicts == ["pass"] * 66, "66 long windows", done)

        (folder / "units.yaml").write_text(UNITS)
        done = call("run", folder / "units.yaml", "--emulate", "--verify-only", "--out", folder / "units.jsonl")
        verdicts = [row["verdict"] for row in rows_of(folder / "units.jsonl")]
        expect(
            done.returncode == 0 and verdicts == ["pass"] * 138,
            "138 windows around the units of a lane, of four and of a warp",
            done,
        )

        (folder / "tiles.yaml").write_text(TILES)
        done = call("run", folder / "tiles.yaml", "--emulate", "--verify-only", "--out", folder / "tiles.jsonl")
        verdicts = [row["verdict"] for row in rows_of(folder / "tiles.jsonl")]
        expect(done.returncode == 0 and verdicts == ["pass"] * 106, "106 windows of published tiles", done)

        # A block that starts alone, in any order, finds nothing published and sums up by itself what it waits for.
        alone = os.environ | {"RUNGS_EMULATOR_BLOCKS": "1", "RUNGS_EMULATOR_SEED": "7"}
        for agg in ("sum", "std", "max"):
            done = call(
                "run",
                f"rolling agg={agg} n=3001 window=1500 input=naninf",
                "--variants",
                "cuda_published_tiles threads=32",
                "--emulate",
                "--verify-only",
                env=alone,
            )
            expect(
                done.returncode == 0 and "1 passed" in done.stdout, f"published tiles, a block at a time: {agg}", done
            )

        # The shift of var is no element of its own: one that is 1e8 times its neighbours would cost the accuracy of a whole window.
        x = numpy.random.default_rng(1).standard_normal(9000)
        x[[5759, 5760, 7680]] = 1e8
        numpy.save(folder / "x.npy", x)
        for variant in ("cuda_warp_unit", "cuda_published_tiles"):
            done = call(
                "exec",
                f"rolling/{variant}",
                "--set",
                "agg=var",
                "--set",
                "window=3000",
                "--in",
                f"x={folder / 'x.npy'}",
                "--out",
                f"y={folder / 'y.npy'}",
                "--check",
                "--emulate",
            )
            expect(done.returncode == 0, f"{variant}: the variance beside outliers", done)

        for agg in ("mean", "var"):
            done, found = run(folder, f"rolling agg={agg} n=3073 window=49 input=naninf", STABLE + FRAGILE)
            for variant in STABLE:
                expect(
                    found[variant]["verdict"] == "pass", f"{variant} agg={agg} keeps NaN and inf in their windows", done
                )
            for variant in FRAGILE:
                expect(
                    found[variant]["verdict"] == "fail",
                    f"{variant} agg={agg} lets NaN and inf out of their windows",
                    done,
                )
        done, found = run(folder, "rolling agg=max n=3073 window=49 input=naninf", STABLE + FRAGILE)
        expect({found[variant]["verdict"] for variant in STABLE + FRAGILE[:3]} == {"pass"}, "maxima are exact", done)
        expect(found["cuda_prefix_difference"]["verdict"] == "skip", "max has no difference", done)

        # 227 KiB: 64 x 48 + 25985 - 1 doubles, and one window more.
        done, found = run(folder, "rolling agg=mean n=30000 window=25985", ("cuda_thread_tile",))
        expect(found["cuda_thread_tile"]["verdict"] == "pass", "the largest window that fits", done)
        done, found = run(folder, "rolling agg=mean n=30000 window=25986", ("cuda_thread_tile",))
        reason = found["cuda_thread_tile"]["reason"] or ""
        expect(
            found["cuda_thread_tile"]["verdict"] == "skip" and "largest window is 25985" in reason, "and the next", done
        )
        done, found = run(folder, "rolling agg=mean n=25985 window=25986", ("cuda_thread_tile",))
        expect(found["cuda_thread_tile"]["verdict"] == "pass", "a window longer than the array needs no memory", done)


if __name__ == "__main__":
    main()
