"""CPU variants as they are compiled for machines with AVX2 and with SSE4 alone (tests/CMakeLists.txt): other widths, other trees of sums."""

import pathlib

import pytest
from program import BUILD, FULL, RUNGS, call, expect, needs_release, rows_of

pytestmark = needs_release

ARRAYS = 40
NEAR = ("n=3073 window=127 dtype=f64", "n=3073 window=70 dtype=f64", "n=3073 window=300 dtype=f32")
NEEDED = {"v2": "sse4_2", "v3": "avx2"}


def program(level):
    if level == "native":
        return RUNGS
    built = BUILD / "tests" / f"rungs-{level}"
    if not built.exists() or NEEDED[level] not in pathlib.Path("/proc/cpuinfo").read_text().split():
        pytest.skip(f"no machine for x86-64-{level}")
    return built


@pytest.mark.parametrize("level", ["v2", "v3"] if FULL else ["v3"])
def test_edges(folder, level):
    out = folder / "rows.jsonl"
    words = ("run", "edges", "--variants", "cpu_*", "--verify-only", "--out", out)
    done = call(*words, program=program(level), timeout=900)
    verdicts = [row["verdict"] for row in rows_of(out)]
    expect(done.returncode == 0 and verdicts.count("pass") > 1000, f"every variant passes for x86-64-{level}", done)


@pytest.mark.parametrize("level", ["native", "v2", "v3"])
def test_variances_keep_far_from_their_bound(folder, level):
    """Of normal numbers one in a few thousand is four standard deviations off, and the first of a tile somewhere. An honest variant that comes
    near its bound fails by chance."""
    cases = [f"rolling agg=var {case} input=normal seed={seed}" for case in NEAR for seed in range(1, ARRAYS + 1)]
    out = folder / "rows.jsonl"
    words = ("--variants", "rolling/cpu_best", "--verify-only", "--out", out)
    done = call("run", *cases, *words, program=program(level))
    expect(done.returncode == 0, "all arrays pass", done)
    ratios = [row["errors"]["y"]["max_ratio"] for row in rows_of(out)]
    assert len(ratios) == len(cases) and max(ratios) < 0.4, max(ratios)
