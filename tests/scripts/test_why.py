"""Sentences of analysis/why.py, from the counts that an H200 gave of kernels whose cause is known (tests/gpu/causes.py makes such rows)."""

import copy
import json
import sys

import pytest
from program import SOURCE

from analysis import why

sys.path.insert(0, str(SOURCE / "tests" / "gpu"))
import causes  # noqa: E402

ROWS = [json.loads(line) for line in (SOURCE / "tests/golden/causes.jsonl").read_text().splitlines()]


def rows_of(variant):
    return [row for row in ROWS if row["variant"] == variant and (row["tunables"] or {}).get("cause", 1)]


@pytest.mark.parametrize("variant", causes.SETS)
def test_planted_causes_are_named(variant):
    if not any(causes.answers(ROWS, variant)):
        pytest.skip("no GPU has run it yet (tests/gpu/causes.py)")
    assert causes.holds(ROWS, variant), list(causes.answers(ROWS, variant))


def test_a_wrong_sentence_does_not_hold():
    swapped = copy.deepcopy(rows_of("double/cuda_more_causes"))
    assert causes.holds(swapped, "cuda_more_causes") and not causes.holds(swapped[1:], "cuda_more_causes")
    for row in swapped:
        row["tunables"]["cause"] = 11 - row["tunables"]["cause"]
    assert not causes.holds(swapped, "cuda_more_causes")


def test_nothing_is_said_without_a_cause():
    plain = [row for row in ROWS if "causes" not in row["variant"]]
    said = [text for text in map(why.sentence, plain) if text]
    assert len(plain) == 10 and len(said) <= 1, said


def without(row, *path):
    row = copy.deepcopy(row)
    part = row
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = None
    return row


@pytest.mark.parametrize("path", [("counts",), ("timing",), ("timing", "cold"), ("timing", "cold", "limit")])
def test_silent_without_figures(path):
    assert why.sentence(rows_of("double/cuda_causes")[0]) is not None
    assert why.sentence(without(rows_of("double/cuda_causes")[0], *path)) is None


def test_no_counters():
    """Launches need no permission, bytes do."""
    slow = {row["tunables"]["cause"]: without(row, "counts", "profile") for row in rows_of("double/cuda_causes")}
    assert why.sentence(slow[8]).startswith("bytes")
    assert why.sentence(without(slow[8], "counts", "bytes_read")) is None
    assert why.sentence(without(slow[5], "counts", "bytes_read")).startswith("launch")


def test_what_changed():
    rows = {row["tunables"]["cause"]: row for row in ROWS if row["variant"] == "double/cuda_causes"}
    spilt = why.changed(rows[0], rows[1])
    assert f"registers {rows[0]['counts']['registers']} -> {rows[1]['counts']['registers']}" in spilt
    assert f"spills 0 -> {rows[1]['counts']['profile']['local_sectors']:.0f} sectors" in spilt
    assert "bytes x2.0" in why.changed(rows[0], rows[8]) and "launches 1 -> 101" in why.changed(rows[0], rows[5])
    assert why.changed(rows[2], rows[2]) == "" == why.changed(rows[2], without(rows[2], "counts"))


def test_parts_of_a_call():
    """The figure's bars: of a kernel that writes twice, of 64 launches, and of one that does neither."""
    figures_time = pytest.importorskip("plots.figures_time")
    rows = {row["tunables"]["cause"]: row for row in rows_of("double/cuda_more_causes")}
    for row in rows.values():
        parts = figures_time.parts_of(row)
        assert min(parts) >= 0 and sum(parts) == pytest.approx(row["timing"]["cold"]["median"])
    least, more, launches, rest = zip(*(figures_time.parts_of(rows[cause]) for cause in (8, 5, 2)), strict=True)
    assert least == pytest.approx((112e-6,) * 3, rel=0.01)
    assert more[0] > 0.3 * least[0] and more[1] < 0.01 * least[1] and more[2] < 0.01 * least[2]
    assert 63e-6 < launches[1] < 300e-6 and launches[2] == 0 and rest[2] > 4e-3
