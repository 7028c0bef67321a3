"""The CUDA ladder of moments in the emulator, beyond edges/moments.yaml: limits that are a skip with a reason, what the published kernels
and power sums must fail at and the others not, the launch configuration in the row."""

import pathlib
import sys
import tempfile

from program import BUILD, call, expect, rows_of

PUBLISHED = ("cuda_two_pass", "cuda_two_pass wide=1")  # sums and outputs in the precision of the data
SHAPELESS = ("cuda_two_pass_grid", "cuda_welford", "cuda_one_read_blocked")  # without a limit of columns
STABLE = (*PUBLISHED, "cuda_two_pass_queued", *SHAPELESS)


# float32 sums of values about 1e10, whose fourth powers overflow.
HUGE = """
title: Fourth powers that overflow
suites:
  - op: moments
    axes: {rows: [203], cols: [3], dtype: [f32], input: [huge]}
    variants:
      - cuda_two_pass
      - cuda_two_pass wide=1
      - cuda_two_pass_queued
      - cuda_two_pass_grid accumulate=data leaf=0,32
      - cuda_power_sums accumulate=data
      - cuda_welford accumulate=data
      - cuda_one_read_blocked accumulate=data
"""


def name_of(row):
    return row["variant"].split("/")[1] + (" wide=1" if row["tunables"].get("wide") else "")


def run(folder, what, variants="cuda_*"):
    out = folder / "rows.jsonl"
    out.unlink(missing_ok=True)
    done = call("run", what, "--variants", variants, "--emulate", "--verify-only", "--out", out, cwd=folder)
    return done, {name_of(row): row for row in rows_of(out)} if out.exists() else {}


def main():
    if not (BUILD / "bin" / "rungs-emulator").exists():
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        done, found = run(folder, "moments rows=3 cols=1025 dtype=f32", ",".join(STABLE))
        for variant, threads in (
            ("cuda_two_pass", 384),
            ("cuda_two_pass wide=1", 1024),
            ("cuda_two_pass_queued", 1024),
        ):
            reason = found[variant]["reason"] or ""
            expect(
                found[variant]["verdict"] == "skip" and "cols=1025" in reason and f"{threads} threads" in reason,
                f"{variant} ends at as many columns as its blocks have threads",
                done,
            )
        expect({found[variant]["verdict"] for variant in SHAPELESS} == {"pass"}, "the others do not", done)
        done, found = run(folder, "moments rows=7 cols=512 dtype=f32", ",".join(STABLE))
        expect(
            found["cuda_two_pass"]["verdict"] == "skip"
            and "384 threads" in found["cuda_two_pass"]["reason"]
            and {found[variant]["verdict"] for variant in STABLE[1:]} == {"pass"},
            "the published launch ends at 384, others of its kind at 1024",
            done,
        )
        expect(
            found["cuda_two_pass wide=1"]["launch"]["threads"] == 512
            and found["cuda_two_pass wide=1"]["launch"]["blocks"] == 4,
            "512 columns: 4 blocks of 512 threads per SM",
            done,
        )
        for case, words in (
            ("rows=3 cols=4 weights=row", "weights"),
            ("rows=0 cols=4", "rows=0"),
            ("rows=3 cols=4 order=5", "order=5"),
        ):
            done, found = run(folder, f"moments {case}", ",".join(PUBLISHED))
            expect(
                all(row["verdict"] == "skip" and words in row["reason"] for row in found.values()) and len(found) == 2,
                f"what the published kernels have not: {words}",
                done,
            )

        # An emulated SM has 2048 threads and 228 KiB of shared memory, a block up to 1024 and 48 KiB: 5 published blocks of 384 threads,
        # 1914 of which are whole rows of 33; or 2 of 1024.
        done, found = run(folder, "moments rows=100 cols=33", ",".join(STABLE))
        for variant in PUBLISHED:
            launch = found[variant]["launch"]
            expect(
                launch["device"] == "emulator"
                and launch["blocks"] == 5
                and launch["threads"] == 384
                and launch["stride"] == 1914
                and launch["registers_per_thread"] == 170
                and launch["shared_bytes_per_thread"] == 121,
                "the configuration is in the row",
                done,
            )
        launch = found["cuda_two_pass_queued"]["launch"]
        expect(
            launch["blocks"] == 2 and launch["threads"] == 1024 and launch["stride"] == 2046, "the largest blocks", done
        )
        expect(all(found[variant]["launch"]["blocks"] >= 1 for variant in STABLE), "so are those of the others", done)
        expect(
            {found[variant]["verdict"] for variant in STABLE} == {"pass"},
            "fewer elements than threads; 33 columns do not divide a block",
            done,
        )

        # mean / sigma = 1e8 in double, by the op's own bound: a mean that is rounded at every value is too coarse for Welford's moments, and
        # of raw power sums nothing is left.
        done, found = run(
            folder, "moments rows=2003 cols=3 dtype=f64 input=offset1e8", ",".join(STABLE + ("cuda_power_sums",))
        )
        got = {variant: row["verdict"] for variant, row in found.items()}
        wanted = {variant: "pass" for variant in STABLE} | {"cuda_welford": "fail", "cuda_power_sums": "fail"}
        expect(got == wanted, "mean / sigma = 1e8: who survives", done)
        # As published, min and max drop a NaN.
        for variant in PUBLISHED:
            done, found = run(folder, "moments rows=300 cols=5 dtype=f64 input=naninf", variant)
            expect(found[variant]["verdict"] == "fail", "min and max of a column with a NaN", done)
        (folder / "huge.yaml").write_text(HUGE)
        done, found = run(folder, folder / "huge.yaml")
        got = {row["spec"] for row in rows_of(folder / "rows.jsonl") if row["verdict"] == "pass"}
        expect(
            got == {f"moments/cuda_two_pass_grid accumulate=data slab=16 chunks=0 leaf={leaf}" for leaf in (0, 32)},
            "x about 1e10 in float32 sums: those survive that scale distances",
            done,
        )


if __name__ == "__main__":
    main()
