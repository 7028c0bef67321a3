"""The CUDA ladder of moments in the emulator, beyond edges/moments.yaml: limits that are a skip with a reason, what power sums must fail at
and the others not, the launch configuration in the row."""
import pathlib
import sys
import tempfile

from program import BUILD, call, expect, rows_of

STABLE = ("cuda_two_pass", "cuda_two_pass_grid", "cuda_two_pass_pairwise", "cuda_welford", "cuda_one_read_blocked")


# float32 sums of values about 1e10, whose fourth powers overflow.
HUGE = """
title: Fourth powers that overflow
suites:
  - op: moments
    axes: {rows: [203], cols: [3], dtype: [f32], input: [huge]}
    variants: [cuda_* accumulate=data]
"""


def run(folder, what, variants="cuda_*"):
    out = folder / "rows.jsonl"
    out.unlink(missing_ok=True)
    done = call("run", what, "--variants", variants, "--emulate", "--verify-only", "--out", out, cwd=folder)
    return done, {row["variant"].split("/")[1]: row for row in rows_of(out)} if out.exists() else {}


def main():
    if not (BUILD / "bin" / "rungs-emulator").exists():
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        done, found = run(folder, "moments rows=3 cols=1025 dtype=f32", ",".join(STABLE))
        reason = found["cuda_two_pass"]["reason"] or ""
        expect(found["cuda_two_pass"]["verdict"] == "skip" and "cols=1025" in reason and "1024 threads" in reason,
               "the published kernels end at as many columns as a block has threads", done)
        expect({found[variant]["verdict"] for variant in STABLE[1:]} == {"pass"}, "the others do not", done)
        done, found = run(folder, "moments rows=3 cols=4 weights=row", "cuda_two_pass")
        expect(found["cuda_two_pass"]["verdict"] == "skip" and "weights" in found["cuda_two_pass"]["reason"], "nor have they weights", done)

        # 2 blocks of 1024 threads are what the emulated SM holds; 2046 of them are whole rows of 33.
        done, found = run(folder, "moments rows=100 cols=33", ",".join(STABLE))
        launch = found["cuda_two_pass"]["launch"]
        expect(launch["device"] == "emulator" and launch["blocks"] == 2 and launch["threads"] == 1024 and launch["stride"] == 2046 and
               launch["registers_per_thread"] == 32 and launch["shared_bytes_per_thread"] == 114, "the configuration is in the row", done)
        expect(all(found[variant]["launch"]["blocks"] >= 1 for variant in STABLE), "so are those of the others", done)

        # mean / sigma = 1e8 in double, by the op's own bound: a mean that is rounded at every value is too coarse for Welford's moments, and
        # of raw power sums nothing is left.
        done, found = run(folder, "moments rows=2003 cols=3 dtype=f64 input=offset1e8", ",".join(STABLE + ("cuda_power_sums",)))
        got = {variant: row["verdict"] for variant, row in found.items()}
        wanted = {variant: "pass" for variant in STABLE} | {"cuda_welford": "fail", "cuda_power_sums": "fail"}
        expect(got == wanted, "mean / sigma = 1e8: who survives", done)
        (folder / "huge.yaml").write_text(HUGE)
        done, found = run(folder, folder / "huge.yaml")
        got = {variant for variant, row in found.items() if row["verdict"] == "pass"}
        expect(got == {"cuda_two_pass_grid", "cuda_two_pass_pairwise"}, "x about 1e10 in float32 sums: those survive that scale distances", done)


if __name__ == "__main__":
    main()
