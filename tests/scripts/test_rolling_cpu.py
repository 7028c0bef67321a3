"""rolling/cpu_best about its bound: an honest variant that comes near it fails by chance."""

from program import call, expect, needs_release, rows_of

pytestmark = needs_release

ARRAYS = 40
CASES = ("n=3073 window=127 dtype=f64", "n=3073 window=70 dtype=f64", "n=3073 window=300 dtype=f32")


def test_variances_keep_far_from_their_bound(folder):
    """Of normal numbers one in a few thousand is four standard deviations off, and the first of a tile somewhere."""
    cases = [f"rolling agg=var {case} input=normal seed={seed}" for case in CASES for seed in range(1, ARRAYS + 1)]
    out = folder / "rows.jsonl"
    done = call("run", *cases, "--variants", "rolling/cpu_best", "--verify-only", "--out", out)
    expect(done.returncode == 0, "all arrays pass", done)
    ratios = [row["errors"]["y"]["max_ratio"] for row in rows_of(out)]
    assert len(ratios) == len(cases) and max(ratios) < 0.4, max(ratios)
