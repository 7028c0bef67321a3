"""CPU variants as they are compiled for machines with AVX2 and with SSE4 alone (tests/CMakeLists.txt): other widths, other trees of sums.

Edge cases: a quarter of them, which has some of every variant, with AVX2. RUNGS_TEST_FULL=1: all of them, and with SSE4, too."""

import json
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
    words = ("run", "edges", "--variants", "cpu_*", "--verify-only")
    part = () if FULL else ("--shard", "3/4")
    done = call(*words, *part, "--out", out, program=program(level), timeout=900)
    passed = [row["variant"] for row in rows_of(out) if row["verdict"] == "pass"]
    expect(done.returncode == 0 and len(passed) > (1000 if FULL else 400), f"all pass for x86-64-{level}", done)
    whole = json.loads(call(*words, "--dry-run", "--json", program=program(level)).stdout)
    missing = {row["variant"] for row in whole if not row["skip"]} - set(passed)
    expect(not missing, f"every variant passes on a case (not: {missing})")


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
