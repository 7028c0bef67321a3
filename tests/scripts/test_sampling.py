"""How many samples a mode gets: a fixed number, or until they are precise; and samples of a device that is throttled (libfake_nvml.so says so)."""

import os

import pytest
from program import BUILD, call, expect, expect_error, needs_gpu, needs_release, rows_of

pytestmark = needs_release

SCENARIO = """title: one
suites:
  - op: rolling
    axes: {{n: [100000], agg: [mean], window: [100], dtype: [f32], input: [normal]}}
    variants: {variants}
    modes: [cold]
"""


def row_of(folder, *words, variants="[cpu_naive]", env=None):
    out, scenario = folder / "rows.jsonl", folder / "one.yaml"
    out.unlink(missing_ok=True)
    scenario.write_text(SCENARIO.format(variants=variants))
    done = call(
        "run", scenario, "--no-ceilings", "--bits", "0", *words, "--out", out, env={**os.environ, **(env or {})}
    )
    expect(done.returncode == 0, "the row passes", done)
    (row,) = rows_of(out)
    return row


@pytest.mark.parametrize(
    "words, share, least",
    [([], -1, 101), (["--precision", "90%"], 0.9, 9), (["--precision", "1e-7%"], 1e-9, 101)],
)
def test_what_stopped_it(folder, words, share, least):
    cold = row_of(folder, *words)["timing"]["cold"]
    precise = cold["high"] - cold["low"] <= 2 * share * cold["median"]  # on a busy machine later, or never
    if cold["stopped"] != "seconds":  # on a slow machine
        assert cold["stopped"] == ("precision" if precise else "samples") and least <= cold["count"] <= 101
    checked = [one["sample"] for one in cold["checked"]]
    if words and cold["count"] > 30:  # one of each round
        assert [sum(a <= sample < b for sample in checked) for a, b in ((0, 9), (9, cold["count"]))] == [1, 2]


@pytest.mark.parametrize("word", ["0%", "100%", "0.5", "x", "-1%", "nan%", "1%%"])
def test_what_is_no_precision(word):
    expect_error(call("run", "double n=10", f"--precision={word}"), 2, "--precision", "expected")


@needs_gpu
@pytest.mark.parametrize("readings, remain", [(3, 0), (10**6, 9)])
def test_a_throttled_device(folder, readings, remain):
    env = {"RUNGS_NVML": str(BUILD / "tests/libfake_nvml.so"), "RUNGS_FAKE_HOT": str(readings)}
    row = row_of(folder, "--precision", "90%", variants="[cuda_naive]", env=env)
    cold = row["timing"]["cold"]
    told = cold["circumstances"]
    assert (
        told["retaken"] == (2 if remain == 0 else 5) and told["remain"] == remain and told["throttled"] == (remain > 0)
    )
    assert len(cold["samples"]) == cold["count"]
    expected = (
        None if remain == 0 else "throttled: 9 of 9 samples of cold, though taken again after pauses of up to 4 s"
    )
    assert row["verdict"] == "pass" and row["reason"] == expected


@needs_gpu
def test_without_nvml(folder):
    row = row_of(folder, variants="[cuda_naive]", env={"RUNGS_NVML": ""})
    assert row["verdict"] == "pass" and row["reason"] is None and "circumstances" not in row["timing"]["cold"]
