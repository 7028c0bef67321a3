"""The CUDA ladder of discounted_cumsum in the emulator, where edges/discounted_cumsum.yaml does not reach: what must fail or be refused, and rows
cut into more strips than a block of the carry kernel has threads."""

import pathlib
import sys
import tempfile

from program import BUILD, call, expect, rows_of, same_bits_with_any_blocks

STRIPS = """
title: Many strips
about: The carries of more strips than one block of the second kernel takes at once
suites:
  - op: discounted_cumsum
    axes: {n: [70001], gamma: [0.9999], dtype: [f32], input: [uniform]}
    tied:
      - {direction: right, gamma_per: all}
      - {direction: left, gamma_per: element}
    variants: [cuda_block_scan threads=32 strips=547]
  - op: discounted_cumsum_grad
    axes: {n: [70001], gamma: [0.9999], dtype: [f32], input: [uniform], gamma_per: [all]}
    variants: [cuda_block_scan threads=32 strips=547]
  - op: discounted_cumsum
    axes: {n: [100]}
    variants: [cuda_block_scan threads=33]
"""

ROWS = """
title: Short rows
about: Both sides of every switch in cuda_warp_row; infinities, and sums that leave the range, in rows beside others
suites:
  - op: discounted_cumsum
    axes:
      n: [1, 3, 8, 9, 31, 32, 33, 64, 65, 68, 128, 132, 1000, 2048]
      batch: [5]
      direction: [right, left]
      gamma_per: [row]
      dtype: [f32, f64]
      input: [normal, naninf]
    variants: [cuda_warp_row]
  - op: discounted_cumsum
    axes: {n: [100], batch: [37], gamma: [0, -0.9, 1.0e-30, 40], dtype: [f32, f64], input: [naninf]}
    variants: [cuda_warp_row]
"""

# Who has the powers of 2 that sums of k terms take: in the dtype, in double, of groups of powers of two, or without any.
CPU, LOG, BLOCK = (
    {"cpu_sequential", "cpu_four_rows", "cpu_best"},
    {"cuda_log_stage_general", "cuda_log_stage_general fused=1"},
    {"cuda_block_scan"},
)
POWERS = {
    "n=2300 k=1024 dtype=f64": CPU | LOG | BLOCK,
    "n=2300 k=1025 dtype=f64": LOG,
    "n=2300 k=2250 dtype=f64": set(),
    "n=300 k=129 dtype=f32": LOG | BLOCK,
}

# The longest rows of cuda_warp_row by what a thread loads: 16 bytes, or one element where a row is no multiple of them.
LONGEST = {
    "n=4100 dtype=f32": "at most 4096 elements",
    "n=2050 dtype=f64": "at most 2048 elements",
    "n=1025 dtype=f32": "at most 1024 elements are supported where their bytes are no multiple of 16",
}

# What the published kernel cannot do, and what the refusal says.
PUBLISHED = {
    "n=100 k=7": "k=7",
    "n=100 gamma_per=element": "gamma_per=element",
    "n=100 reset=mask": "reset=mask",
    "n=1 batch=65536": "at most 65535",
    "n=2097153 dtype=f32": "22 stages; the published code counts 21",
}


def name_of(row):
    return row["variant"].split("/")[1] + (" fused=1" if row["tunables"].get("fused") else "")


def run(folder, case, variants):
    out = folder / "rows.jsonl"
    out.unlink(missing_ok=True)
    done = call("run", case, "--variants", ",".join(variants), "--emulate", "--verify-only", "--out", out, cwd=folder)
    return done, {name_of(row): row for row in rows_of(out)} if out.exists() else {}


def main():
    if not (BUILD / "bin" / "rungs-emulator").exists():
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "rows.yaml").write_text(ROWS)
        done = call("run", folder / "rows.yaml", "--emulate", "--verify-only", "--out", folder / "short.jsonl")
        verdicts = [row["verdict"] for row in rows_of(folder / "short.jsonl")]
        expect(done.returncode == 0 and verdicts == ["pass"] * 120, "120 cases of short rows", done)
        for case, words in LONGEST.items():
            done, found = run(folder, f"discounted_cumsum {case}", ("cuda_warp_row",))
            row = found["cuda_warp_row"]
            expect(row["verdict"] == "skip" and words in row["reason"], f"{case}: too long a row", done)

        others = ("cuda_log_stage_general fused=1", "cuda_block_scan", "cuda_cub_scan")
        done, found = run(
            folder, "discounted_cumsum n=777 gamma=0.25 dtype=f32 input=naninf seed=3", ("cuda_log_stage",) + others
        )
        expect(found["cuda_log_stage"]["verdict"] == "fail", "pow() underflows to 0, and 0 * inf is NaN", done)
        expect(
            {found[variant]["verdict"] for variant in others} == {"pass"},
            "powers that stop short of 0 keep an infinity",
            done,
        )

        done, found = run(folder, "discounted_cumsum n=100 k=7", ("cuda_cub_scan", "cuda_block_scan"))
        expect(
            found["cuda_cub_scan"]["verdict"] == "skip" and "k=7" in found["cuda_cub_scan"]["reason"],
            "CUB has no sums of k terms",
            done,
        )
        expect(found["cuda_block_scan"]["verdict"] == "pass", "the block scan does", done)
        for k, verdict in ((100, "skip"), (101, "pass")):
            done, found = run(folder, f"discounted_cumsum n=100 k={k}", ("cuda_cub_scan", "cuda_block_scan"))
            expect(
                found["cuda_cub_scan"]["verdict"] == verdict and found["cuda_block_scan"]["verdict"] == "pass",
                f"k={k} of n=100: {verdict}",
                done,
            )
        for case, words in PUBLISHED.items():
            done, found = run(folder, f"discounted_cumsum {case}", ("cuda_log_stage",))
            row = found["cuda_log_stage"]
            expect(
                row["verdict"] == "skip" and words in row["reason"], f"{case}: the published kernel cannot do it", done
            )
        for case, passing in POWERS.items():
            done, found = run(folder, f"discounted_cumsum gamma=2 input=denormal {case}", sorted(CPU | LOG | BLOCK))
            passed = {variant for variant, row in found.items() if row["verdict"] == "pass"}
            expect(len(found) == 6 and passed == passing, f"{case}: {passed} have the powers of gamma", done)
            refused = [row for variant, row in found.items() if variant not in passing]
            expect(
                all(row["verdict"] == "skip" and "beyond the range of" in row["reason"] for row in refused),
                f"{case}: others say so",
                done,
            )
        # A block that starts alone, in any order, finds nothing published, and adds up by itself what it waits for.
        import numpy

        numpy.save(folder / "x.npy", numpy.random.default_rng(7).normal(size=(2, 24001)))
        for direction in ("right", "left"):
            same_bits_with_any_blocks(
                folder, "discounted_cumsum/cuda_agent_scan", "gamma=0.9999", "threads=32", f"direction={direction}"
            )

        (folder / "strips.yaml").write_text(STRIPS)
        out = folder / "strips.jsonl"
        done = call("run", folder / "strips.yaml", "--emulate", "--verify-only", "--out", out)
        rows = rows_of(out)
        expect(done.returncode == 0 and [row["verdict"] for row in rows] == ["pass"] * 3 + ["skip"], "547 strips", done)
        expect("multiple of 32" in rows[3]["reason"], "33 threads are no whole warps", done)


if __name__ == "__main__":
    main()
