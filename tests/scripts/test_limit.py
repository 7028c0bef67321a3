"""Rows carry what they move per second, and the least time that the machine needs for it: the numbers of a row agree with each other."""

import pytest
from program import call, expect, needs_release, rows_of

pytestmark = needs_release

CASES = ("double n=10007", "double n=0", "rolling n=2000 window=3000 agg=mean", "redact rows=2000 input=private")
VARIANTS = "cpu_loop,cpu_online,cpu_best"


def run(folder, *more):
    out = folder / "rows.jsonl"
    done = call("run", *CASES, "--variants", VARIANTS, "--quick", "--no-counts", "--out", out, *more)
    expect(done.returncode == 0, f"runs {' '.join(more)}", done)
    return rows_of(out)


def close(a, b):
    return abs(a - b) <= 1e-12 * abs(b)


def check_mode(row, mode, timed):
    work, limit = row["work"], timed["limit"]
    what = f"{row['spec']}, {row['case']}, {mode}"
    if timed["median"] is None:
        expect(
            (timed["bytes_per_second"], timed["elements_per_second"], limit) == (None, None, None),
            f"{what}: no time, no rate",
        )
        return
    rates = [(timed["bytes_per_second"], work["bytes"]), (timed["elements_per_second"], work["elements"])]
    expect(
        all(rate is None if amount == 0 else close(rate * timed["median"], amount) for rate, amount in rates),
        f"{what}: rates",
    )
    if mode == "first" or row["limit_reason"]:
        expect(limit is None, f"{what}: no limit")
        return
    expect(
        limit["seconds"] > 0 and limit["kernel"] and close(limit["share"], limit["seconds"] / timed["median"]),
        f"{what}: limit",
    )


@pytest.fixture(scope="module")
def rows(shared_folder):
    return [row for row in run(shared_folder) if row["verdict"] != "skip"]


def test_the_numbers_of_a_row_agree(rows):
    for row in rows:
        for mode, timed in row["timing"].items():
            check_mode(row, mode, timed)


@pytest.mark.parametrize(
    "op, read, written",
    [
        ("double", 80056, 80056),  # every element is read and written
        ("rolling", 0, 16000),  # no window is full: nothing is read
        ("redact", 2000 * 4, 2001 * 4 + 2000 * 3),  # hidden names are not read; 'X X' is written for each
    ],
)
def test_the_bytes_that_must_be_moved(rows, op, read, written):
    limits = [row["timing"]["hot"]["limit"] for row in rows if row["op"] == op]
    assert {(limit["bytes_read"], limit["bytes_written"]) for limit in limits if limit} == {(read, written)}


def test_no_elements_have_no_limit(rows):
    assert any(row["timing"]["hot"]["limit"] is None and row["limit_reason"] == "no bytes to move" for row in rows)


def test_the_rows_of_a_case_share_a_limit(rows):
    by_case = {}
    for row in rows:
        limit = row["timing"]["hot"]["limit"]
        by_case.setdefault(row["case"], set()).add(limit and limit["seconds"])
    assert all(len(found) == 1 for found in by_case.values()), by_case


def test_no_ceilings_measures_no_limits(folder):
    untold = [row for row in run(folder, "--no-ceilings") if row["timing"]]
    assert untold and all(row["limit_reason"] == "peaks were not measured" for row in untold)
