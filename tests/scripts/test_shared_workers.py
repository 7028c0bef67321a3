"""One worker serves several cases of a variant: what it may keep from one to the next, whose fault a fault is, and when it is replaced."""

import os
import re
import sys
import time

import pytest

from program import MUTANTS, SANITIZED, at_once, call, expect, needs_release, rows_of

CASES = [f"double n=10007 input=normal dtype=f64 seed={seed}" for seed in (1, 2, 3)]
SHARED, FRESH = "shared", "fresh"
# how -> verdict, reason and worker of the rows of three cases, in their order
EXPECTED = {
    "nothing": [("pass", "", SHARED)] * 3,
    "memo_over_cases": [("pass", "", SHARED), ("fail", r"^y\[0\] is ", SHARED), ("pass", "", FRESH)],
    "leak_in_prepare": [("fail", r"^at its end: leaks memory: prepare\(\) and release\(\)", FRESH)] * 3,
    "crash_in_second_case": [("pass", "", FRESH)] * 3,  # alone, none of them is a second
    "abort_at_exit": [("pass", "", FRESH)] * 3,
    "child_of_second": [("pass", "", FRESH)] * 3,
    "memory_of_cases": [("pass", "", SHARED), ("pass", "", SHARED), ("pass", "", FRESH)],  # replaced after the second
}


def run(folder, variants, *more, cases=CASES, program=MUTANTS):
    out = folder / "rows.jsonl"
    done = call("run", *cases, "--variants", variants, "--verify-only", "--out", out, *more, program=program)
    return rows_of(out), done


@pytest.mark.parametrize("how", EXPECTED)
@at_once
def test_a_fault_costs_the_row_that_has_it_and_no_other(folder, how):
    if SANITIZED and how in ("leak_in_prepare", "memory_of_cases"):
        pytest.skip("a sanitized process ends itself, and does not tell what memory is in use")
    rows, done = run(folder, f"cpu_keeps_state how={how}")
    found = [(row["verdict"], row["reason"] or "", row["worker"]) for row in rows]
    right = len(found) == 3 and all(
        v == w and re.search(r, why, re.S) for (v, why, _), (w, r, _) in zip(found, EXPECTED[how])
    )
    expect(right, f"{how}: {found}", done)


@at_once
def test_who_has_one_worker_for_all_cases(folder):
    rows, done = run(folder, "cpu_right,cpu_zeros,peer_right")
    by = {
        name: [(row["verdict"], row["worker"]) for row in rows if row["variant"].endswith(name)]
        for name in ("cpu_right", "cpu_zeros", "peer_right")
    }
    expect(by["cpu_right"] == [("pass", SHARED)] * 3, "a right variant has one worker for its cases", done)
    expect(by["cpu_zeros"] == [("fail", FRESH)] * 3, "a wrong one has another after each fault", done)
    expect(by["peer_right"] == [("pass", SHARED)] * 3, "so has a library", done)


@at_once
def test_fresh_workers_are_one_for_each_row(folder):
    rows, done = run(folder, "cpu_right,peer_right", "--fresh-workers")
    expect([row["worker"] for row in rows] == [FRESH] * 6, "--fresh-workers: one for each row", done)


@needs_release
@at_once
def test_only_the_first_case_has_the_first_call_of_a_process(folder):
    out = folder / "rows.jsonl"
    done = call("run", *CASES[:2], "--variants", "cpu_right", "--quick", "--no-ceilings", "--out", out, program=MUTANTS)
    timing = [row["timing"]["first"] for row in rows_of(out)]
    expect(
        timing[0]["count"] == 1 and timing[1]["count"] == 0 and "served another case" in timing[1]["why_none"],
        f"first: {timing[1]}",
        done,
    )


@at_once
def test_a_worker_that_never_says_a_word_is_given_up(folder):
    """After the time-out, or ten seconds if that is shorter."""
    python = folder / "python"
    python.write_text(
        f'#!/bin/sh\n[ "$1" = -c ] && exec {sys.executable} "$@"\nexec sleep 300\n'
    )  # -c: asked for its version, which may take 30 s
    python.chmod(0o755)
    begin = time.monotonic()
    out = folder / "rows.jsonl"
    done = call(
        "run",
        CASES[0],
        "--variants",
        "peer_right",
        "--verify-only",
        "--timeout",
        "1s",
        "--out",
        out,
        program=MUTANTS,
        env={**os.environ, "RUNGS_PYTHON": str(python)},
    )
    rows = [(row["verdict"], row["reason"]) for row in rows_of(out)]
    expect(rows == [("error", "timed out after 10 s")], f"a worker that hangs before its first word: {rows}", done)
    expect(time.monotonic() - begin < 30, "long before two minutes")
