"""Are the outputs of repeated calls equal bit for bit? Mutants whose outputs differ in one of 300 calls, at random, are found in 95% of rows with 1,000
calls; what always gives the same is not accused; a row says what was tried, and what was not."""

import importlib
import re
import sys
import time
import types

import numpy
import pytest
from program import BUILD, MUTANTS, SOURCE, call, expect, needs_gpu, needs_release, rows_of

pytestmark = needs_release

CASES = [f"rolling n=5000 window=30 agg=mean seed={seed}" for seed in range(1, 25)]
MOST_MISSED = 5  # of 24, each missed with 1,000 calls in 1 of 28: more in 1 of 3,000 tries


def bits(folder, *words, program=MUTANTS):
    out = folder / "rows.jsonl"
    out.unlink(missing_ok=True)
    done = call("run", *words, "--quick", "--out", out, program=program)
    return done, rows_of(out)


@pytest.mark.parametrize(
    "variant", ["cpu_differs_now_and_then", pytest.param("cuda_now_and_then_control", marks=needs_gpu)]
)
def test_one_of_300_calls(worker_folder, variant):
    done, rows = bits(worker_folder, *CASES, "--variants", variant, "--bits", "1000", "--no-ceilings")
    expect(len(rows) == 24 and all(row["verdict"] == "pass" for row in rows), "all pass: the numbers are right", done)
    found = [row["bits"] for row in rows if row["bits"]["outcome"] == "differ"]
    assert len(rows) - len(found) <= MOST_MISSED
    assert len({one["element"] for one in found}) > 1, "at random places"
    for one in found:
        assert one["output"] == "y" and 30 <= one["element"] < 5000 and 2 <= one["calls"] <= 1000
        assert 0 < one["apart"] < 2.3e-16 and one["excluded"] is None, "the next number"


def test_same_bits(worker_folder):
    done, rows = bits(worker_folder, *CASES[:3], "--variants", "cpu_pairwise_control", "--bits", "300", "--no-ceilings")
    told = [row["bits"] for row in rows]
    expect(len(told) == 3, "three rows", done)
    assert all((one["outcome"], one["calls"], one["excluded"]) == ("same", 300, 0.01) for one in told)


def test_wrong_in_one_of_300_calls(worker_folder):
    done, rows = bits(
        worker_folder, *CASES[:6], "--variants", "cpu_wrong_now_and_then", "--bits", "1000", "--no-ceilings"
    )
    failed = [row for row in rows if row["verdict"] == "fail"]  # less than half of six: in 1 of 40,000 tries
    expect(len(failed) >= 3 and all(row["bits"] is None for row in failed), "what differs is compared, too", done)
    expect(any(row["reason"].startswith("in a repeated call: y[") for row in failed), "and the reason says so", done)


def test_a_library(worker_folder):
    """A mutant that is wrong may be caught before: in one of four rows it is not."""
    names, cases = "peer_right,peer_differs_now_and_then", [f"double n=2000 seed={seed}" for seed in range(1, 5)]
    done, rows = bits(worker_folder, *cases, "--variants", names, "--bits", "3000", "--no-ceilings")
    right, wrong = ([row for row in rows if row["variant"].endswith(name)] for name in names.split(","))
    told = [(row["bits"]["outcome"], row["bits"]["calls"]) for row in right]
    expect(told == [("same", 3000)] * 4, "the same", done)
    expect(all(row["verdict"] == "fail" for row in wrong), "what differs is wrong", done)
    expect(any("in a repeated call" in row["reason"] for row in wrong), "and the reason says when", done)


@pytest.mark.parametrize(
    "words, reason",
    [
        (("--no-ceilings",), "turned off"),
        (("--bits", "0"), "turned off"),
        (("--verify-only",), "verify only"),
        (("--bits", "2"), "too few calls"),
    ],
)
def test_not_tried(worker_folder, words, reason):
    done, rows = bits(worker_folder, CASES[0], "--variants", "cpu_pairwise_control", *words)
    told = rows[0]["bits"]
    expect(told["outcome"] == "not tried" and reason in told["reason"] and told["excluded"] is None, reason, done)


def test_as_many_as_time_allows(worker_folder):
    """Without a number: a hundred at least where calls are short, and not a tenth of the row's time where they are not few."""
    done, rows = bits(
        worker_folder, CASES[0], "rolling n=5e5 window=100 agg=mean", "--variants", "cpu_pairwise_control"
    )
    short, long = (row["bits"] for row in rows)
    expect(100 <= short["calls"] <= 1000 and short["outcome"] == "same", "a hundred at least", done)
    expect(3 <= long["calls"] < 100 and 1 <= long["seconds"] < 5, f"as many as fit a second: {long}", done)


class Library:
    """A call takes a millisecond, to see its result 20."""

    on_gpu = False

    def disturb_gpu_end(self):
        pass

    def results(self, outputs, rooms):
        time.sleep(0.02)
        return {"y": numpy.zeros(3)}


def test_a_hundred_short_calls(monkeypatch):
    """Also where it takes more than a second to compare them."""
    monkeypatch.setattr(sys, "path", [str(SOURCE / "harness/device"), *sys.path])
    peer_bits, wire = importlib.import_module("peer_bits"), importlib.import_module("peer_protocol")
    library = Library()
    library.memory = importlib.import_module("peer_forms").Memory(BUILD / "lib/librungs_measure.so")
    engine = types.SimpleNamespace(library=library, c=library)
    repeats = peer_bits.Repeats(lambda: time.sleep(1e-3), engine, library, {})
    told, _ = repeats.take({wire.KEY_SECONDS: 0.1, wire.KEY_MIN_SAMPLES: 100, wire.KEY_MAX_SAMPLES: 1000})
    assert told[wire.KEY_CALLS] == 100


def test_a_bad_number(worker_folder):
    done = call("run", CASES[0], "--bits", "many", program=MUTANTS)
    expect(done.returncode == 2 and re.search("--bits.*a number", done.stderr), "usage", done)
