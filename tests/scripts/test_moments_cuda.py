"""The CUDA ladder of moments in the emulator, beyond edges/moments.yaml: limits that are a skip with a reason, what the published kernels
and power sums must fail at and the others not, the launch configuration in the row."""

import pytest

from program import emulate, emulate_each, expect, needs_emulator

pytestmark = needs_emulator

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


def verdicts(found, *variants):
    return {found[variant]["verdict"] for variant in variants}


def test_a_block_has_a_thread_for_each_column(folder):
    done, found = emulate_each(folder, "moments rows=3 cols=1025 dtype=f32", *STABLE)
    for variant, threads in (("cuda_two_pass", 384), ("cuda_two_pass wide=1", 1024), ("cuda_two_pass_queued", 1024)):
        reason = found[variant]["reason"] or ""
        expect(
            found[variant]["verdict"] == "skip" and "cols=1025" in reason and f"{threads} threads" in reason,
            f"{variant} ends at as many columns as its blocks have threads",
            done,
        )
    expect(verdicts(found, *SHAPELESS) == {"pass"}, "the others do not", done)


def test_the_published_launch_ends_at_384_columns(folder):
    done, found = emulate_each(folder, "moments rows=7 cols=512 dtype=f32", *STABLE)
    expect(
        found["cuda_two_pass"]["verdict"] == "skip"
        and "384 threads" in found["cuda_two_pass"]["reason"]
        and verdicts(found, *STABLE[1:]) == {"pass"},
        "the published launch ends at 384, others of its kind at 1024",
        done,
    )
    launch = found["cuda_two_pass wide=1"]["launch"]
    assert (launch["threads"], launch["blocks"]) == (512, 4), "4 blocks of 512 threads per SM"


@pytest.mark.parametrize(
    "case, words",
    [
        ("rows=3 cols=4 weights=row", "weights"),
        ("rows=0 cols=4", "rows=0"),
        ("rows=3 cols=4 order=5", "order=5"),
    ],
)
def test_what_the_published_kernels_have_not(folder, case, words):
    done, found = emulate_each(folder, f"moments {case}", *PUBLISHED)
    expect(
        all(row["verdict"] == "skip" and words in row["reason"] for row in found.values()) and len(found) == 2,
        f"what the published kernels have not: {words}",
        done,
    )


def test_the_configuration_is_in_the_row(folder):
    """An emulated SM has 2048 threads and 228 KiB of shared memory, a block up to 1024 and 48 KiB: 5 published blocks of 384 threads,
    1914 of which are whole rows of 33; or 2 of 1024."""
    done, found = emulate_each(folder, "moments rows=100 cols=33", *STABLE)
    published = {
        "device": "emulator",
        "blocks": 5,
        "threads": 384,
        "stride": 1914,
        "registers_per_thread": 170,
        "shared_bytes_per_thread": 121,
    }
    for variant in PUBLISHED:
        assert published.items() <= found[variant]["launch"].items()
    largest = {"blocks": 2, "threads": 1024, "stride": 2046}
    assert largest.items() <= found["cuda_two_pass_queued"]["launch"].items()
    assert all(found[variant]["launch"]["blocks"] >= 1 for variant in STABLE)
    expect(verdicts(found, *STABLE) == {"pass"}, "fewer elements than threads; 33 columns do not divide a block", done)


def test_a_thread_adds_few_narrow_lines(folder):
    """Of 1,250 lines the sums in float of a thread exceed the bound."""
    name = "cuda_one_read_first_row"
    done, [chosen, few] = emulate(folder, "moments rows=40001 cols=64 dtype=e5m2", name, f"{name} chunks=1")
    launch = chosen["launch"]
    lines_at_once = launch["chunks"] * (launch["threads"] // launch["threads_along_row"])
    expect(chosen["verdict"] == "pass" and 40001 / lines_at_once <= 256, "a thread has 256 lines at most", done)
    reason = few["reason"] or ""
    expect("a thread adds 1251 lines" in reason and "more chunks" in reason, "fewer chunks are refused", done)


def test_who_survives_a_mean_of_1e8_sigma(folder):
    """In double, by the op's own bound: a mean that is rounded at every value is too coarse for Welford's moments, and of raw power sums
    nothing is left."""
    case = "moments rows=2003 cols=3 dtype=f64 input=offset1e8"
    done, found = emulate_each(folder, case, *STABLE, "cuda_power_sums")
    got = {variant: row["verdict"] for variant, row in found.items()}
    wanted = {variant: "pass" for variant in STABLE} | {"cuda_welford": "fail", "cuda_power_sums": "fail"}
    expect(got == wanted, f"mean / sigma = 1e8: {got}", done)


@pytest.mark.parametrize("variant", PUBLISHED)
def test_published_minima_and_maxima_drop_a_nan(folder, variant):
    done, found = emulate_each(folder, "moments rows=300 cols=5 dtype=f64 input=naninf", variant)
    expect(found[variant]["verdict"] == "fail", "min and max of a column with a NaN", done)


def test_float32_sums_of_fourth_powers_survive_where_distances_are_scaled(folder):
    done, rows = emulate(folder, HUGE)
    expect(
        {row["spec"] for row in rows if row["verdict"] == "pass"}
        == {f"moments/cuda_two_pass_grid accumulate=data slab=16 chunks=0 leaf={leaf}" for leaf in (0, 32)},
        "x about 1e10 in float32 sums",
        done,
    )
