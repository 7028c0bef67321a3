"""The CUDA ladder of discounted_cumsum in the emulator, where edges/discounted_cumsum.yaml does not reach: what must fail or be refused, and rows
cut into more strips than a block of the carry kernel has threads."""

import pytest

from program import emulate, emulate_each, expect, needs_emulator, same_bits_with_any_blocks

pytestmark = needs_emulator

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

GATES = """
title: Rows in groups
about: Rows of one tile, of several and of a half, a third and a fifth of a warp's part, of each number of loads; more rows than a group; infinities, which the maps of cuda_row_groups carry only when asked
suites:
  - op: discounted_cumsum
    axes:
      n: [1, 24, 33, 128, 131, 1000, 2050]
      batch: [5]
      direction: [right, left]
      input: [normal, naninf]
    tied:
      - {gamma_per: element, reset: none, dtype: f32}
      - {gamma_per: element, reset: mask, dtype: f64}
      - {gamma_per: row, reset: mask, dtype: f32}
      - {gamma_per: row, reset: none, dtype: f16}
      - {gamma_per: element, reset: mask, dtype: bf16}
    variants: ["cuda_row_groups threads=64 vectors=1,4 group=2", "cuda_row_staged threads=32 vectors=4 group=2"]
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


def test_short_rows(folder):
    done, rows = emulate(folder, ROWS)
    expect(done.returncode == 0 and [row["verdict"] for row in rows] == ["pass"] * 120, "120 cases", done)


def test_rows_in_groups(folder):
    done, rows = emulate(folder, GATES)
    expect(done.returncode == 0 and [row["verdict"] for row in rows] == ["pass"] * 420, "420 rows", done)


@pytest.mark.parametrize("case, words", LONGEST.items(), ids=LONGEST)
def test_the_longest_rows_of_a_warp(folder, case, words):
    done, found = emulate_each(folder, f"discounted_cumsum {case}", "cuda_warp_row")
    row = found["cuda_warp_row"]
    expect(row["verdict"] == "skip" and words in row["reason"], f"{case}: too long a row", done)


def test_powers_that_stop_short_of_0_keep_an_infinity(folder):
    case = "discounted_cumsum n=777 gamma=0.25 dtype=f32 input=naninf seed=3"
    others = ("cuda_log_stage_general fused=1", "cuda_block_scan", "cuda_cub_scan")
    done, found = emulate_each(folder, case, "cuda_log_stage", *others)
    expect(found["cuda_log_stage"]["verdict"] == "fail", "pow() underflows to 0, and 0 * inf is NaN", done)
    expect({found[variant]["verdict"] for variant in others} == {"pass"}, "the others stop short of 0", done)


@pytest.mark.parametrize("k, verdict", [(7, "skip"), (100, "skip"), (101, "pass")])
def test_cub_has_no_sums_of_k_terms(folder, k, verdict):
    """Of n = 100; the block scan has them."""
    done, found = emulate_each(folder, f"discounted_cumsum n=100 k={k}", "cuda_cub_scan", "cuda_block_scan")
    row = found["cuda_cub_scan"]
    expect(row["library"] == "CUB" and found["cuda_block_scan"]["library"] is None, "whose kernel it is", done)
    expect(row["verdict"] == verdict and (verdict == "pass" or f"k={k}" in row["reason"]), f"k={k}: {verdict}", done)
    expect(found["cuda_block_scan"]["verdict"] == "pass", "the block scan does", done)


@pytest.mark.parametrize("case, words", PUBLISHED.items(), ids=PUBLISHED)
def test_what_the_published_kernel_cannot_do(folder, case, words):
    done, found = emulate_each(folder, f"discounted_cumsum {case}", "cuda_log_stage")
    row = found["cuda_log_stage"]
    expect(row["verdict"] == "skip" and words in row["reason"], f"{case}: the published kernel cannot do it", done)


@pytest.mark.parametrize("case, passing", POWERS.items(), ids=POWERS)
def test_who_has_the_powers_of_gamma(folder, case, passing):
    done, found = emulate_each(folder, f"discounted_cumsum gamma=2 input=denormal {case}", *sorted(CPU | LOG | BLOCK))
    passed = {variant for variant, row in found.items() if row["verdict"] == "pass"}
    expect(len(found) == 6 and passed == passing, f"{passed} have the powers of gamma", done)
    refused = [row for variant, row in found.items() if variant not in passing]
    expect(
        all(row["verdict"] == "skip" and "beyond the range of" in row["reason"] for row in refused),
        "others say so",
        done,
    )


@pytest.mark.parametrize(
    "variant, more",
    [
        ("cuda_agent_scan", ()),
        ("cuda_one_hop", ("window=1",)),
        ("cuda_one_hop", ("tile=pair",)),
        ("cuda_row_groups", ("vectors=1", "group=1")),
        ("cuda_row_staged", ("vectors=2", "group=1")),
    ],
)
@pytest.mark.parametrize("direction", ["right", "left"])
def test_blocks_in_any_order(folder, direction, variant, more):
    """A block that starts alone adds up by itself what it waits for, or is dealt what waits for nothing."""
    numpy = pytest.importorskip("numpy")
    numpy.save(folder / "x.npy", numpy.random.default_rng(7).normal(size=(2, 24001)))
    settings = ("gamma=0.9999", "threads=32", f"direction={direction}", *more)
    same_bits_with_any_blocks(folder, f"discounted_cumsum/{variant}", *settings)


def test_more_strips_than_a_block_has_threads(folder):
    done, rows = emulate(folder, STRIPS)
    verdicts = [row["verdict"] for row in rows]
    expect(done.returncode == 0 and verdicts == ["pass"] * 3 + ["skip"], "547 strips", done)
    expect("multiple of 32" in rows[3]["reason"], "33 threads are no whole warps", done)
