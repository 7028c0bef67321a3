"""A failure in timing can be repeated: the command that the terminal prints fails in the same sample with the same words."""

import re
import shlex

import pytest

from program import MUTANTS, call, expect, expect_error, needs_release, rows_of

pytestmark = needs_release

CASE = "double n=20011"


def run(folder, words):
    out = folder / "rows.jsonl"
    out.unlink(missing_ok=True)
    done = call(*words, "--no-ceilings", "--out", out, program=MUTANTS, cwd=folder)
    return done, rows_of(out)


PACES = ["--quick"], ["--quick", "--precision", "1e-6%"]


@pytest.mark.parametrize("pace", PACES, ids=["fixed", "in-rounds"])
@pytest.mark.parametrize("variant", ["cpu_wrong_later", "cpu_stale", "peer_last_result"])
def test_the_printed_command_repeats_it(folder, variant, pace):
    reasons = set()
    for _ in range(20):  # in rounds the first has three samples: words repeat
        done, (row,) = run(folder, ["run", CASE, "--variants", variant, *pace])
        expect(row["verdict"] == "fail" and row["reason"].startswith("in timing, "), "it fails in timing", done)
        reasons.add(row["reason"])
        command = re.search(r"^ +again: rungs (.+)$", done.stderr, re.M)
        expect(command, "the terminal prints the command", done)
        done, (again,) = run(folder, shlex.split(command[1]))
        expect(again["reason"] == row["reason"], f"{again['reason']}\ninstead of {row['reason']}", done)
        assert again["draw"] == row["draw"] in command[1]
        if len(reasons) > 1:
            return
    pytest.fail(f"twenty rows fail alike, as if the sample were known before: {reasons}")


def test_who_passes_tells_nothing(folder):
    _, (row,) = run(folder, ["run", CASE, "--variants", "cpu_right", "--quick"])
    assert row["verdict"] == "pass" and row["draw"] is None


def test_after_a_failure_the_next_variant_has_another_draw(folder):
    done, rows = run(folder, ["run", CASE, "--variants", "cpu_wrong_later,cpu_stale", "--quick"])
    draws = [row["draw"] for row in rows]
    expect(len(set(draws)) == 2 and len({draw[:16] for draw in draws}) == 2, f"two draws: {draws}", done)


@pytest.mark.parametrize(
    "draw",
    [
        "7",
        "0" * 32,
        "f" * 32 + "-",
        "f" * 32 + "-0",
        "f" * 32 + "-3x",
        "f" * 32 + "-9-9",
        "f" * 32 + "-1-2-3-4",
        "g" * 32,
    ],
)
def test_what_is_no_draw(draw):
    expect_error(call("run", CASE, "--draw", draw), 2, "--draw", "is expected")
