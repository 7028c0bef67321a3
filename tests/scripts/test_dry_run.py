"""rungs run --dry-run: the rows that a run then makes, their bytes and an estimate; no file, no call of a variant."""

import json
import os

import pytest
from program import MUTANTS, RUNGS, call, expect_error, rows_of

CASE = "double n=1000 dtype=f64 input=uniform seed=1"


def listed(*words, program=RUNGS):
    done = call("run", *words, "--dry-run", "--json", program=program)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_rows_of_the_run(folder):
    """The same cases, specs, backends and skips with the same reasons."""
    words = ("rolling n=100 window=7", "double n=1000", "--variants", "cpu_*", "--verify-only", "--no-ceilings")
    call("run", *words, "--out", folder / "rows.jsonl")

    def made(row, skip):
        return row["case"], row["spec"], row["backend"], skip

    expected = sorted(
        made(row, row["reason"] if row["verdict"] == "skip" else None) for row in rows_of(folder / "rows.jsonl")
    )
    found = listed(*words)
    assert sorted((made(row, row["skip"]) for row in found), key=str) == sorted(expected, key=str)
    assert any(row["skip"] for row in found) and not any(row["timed"] for row in found)


def test_bytes_and_estimate():
    [row] = listed(CASE, "--variants", "cpu_loop")
    assert (row["case"], row["input_bytes"], row["output_bytes"], row["processes"]) == (CASE, 8000, 8000, 1)
    [large] = listed(CASE.replace("n=1000", "n=1000000000"), "--variants", "cpu_loop")
    assert large["input_bytes"] == 8000000000
    assert large["seconds"] > row["seconds"]
    assert row["seconds"] > 0
    text = call("run", CASE, "--variants", "cpu_loop", "--dry-run").stdout
    for word in (
        f"{CASE}  (inputs 8 kB, outputs 8 kB)",
        "double/cpu_loop",
        "1 case, 1 row:",
        "on an H200 and its host",
    ):
        assert word in text


def test_scenarios():
    """With their names, as many rows as `list` tells of them."""
    scenarios = {
        s["name"]: s["rows"]
        for s in json.loads(call("list", "scenarios", "--json").stdout)
        if s["name"].startswith("smoke/")
    }
    found = [row["scenario"] for row in listed("smoke")]
    assert {name: found.count(name) for name in scenarios} == scenarios
    assert len(found) == sum(scenarios.values())


def test_nothing_is_written_or_called(folder):
    out = folder / "rows.jsonl"
    done = call("run", CASE, "--dry-run", "--out", out, cwd=folder)
    assert (done.returncode, done.stderr, os.listdir(folder)) == (0, "", [])
    if MUTANTS.exists():
        [row] = listed(CASE, "--variants", "cpu_hangs", program=MUTANTS)
        assert row["skip"] is None


@pytest.mark.parametrize(
    "words, told",
    [
        ([CASE, "--dry-run", "--resume", "--out", "x"], "leave out --resume"),
        (["nowhere", "--dry-run"], "nowhere"),
    ],
    ids=["resume", "nowhere"],
)
def test_usage(words, told):
    expect_error(call("run", *words), 2, told)
