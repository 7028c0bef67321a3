"""Published errors: claims about one number and variant stand together, named by what their cases differ in; and what the summary says of rows that fail."""
import copy
import pathlib
import sys
import tempfile

from every_test import run_every
from golden_rows import GOLDEN, written

import figures_errors
import report_summary
import rows as reader

FOLDER = tempfile.TemporaryDirectory(prefix="rungs_test_errors_")
WORK = pathlib.Path(FOLDER.name)


def claim(id_, window, value, ours, verdict):
    pattern = next(line for line in GOLDEN if line["kind"] == "claim")
    return {**pattern, "id": id_, "quantity": "error", "value": value, "low": value / 2, "high": value * 2, "ours": ours, "ours_interval": None, "verdict": verdict,
            "case": f"rolling agg=mean n=1000 window={window} dtype=f64 input=ramp seed=1", "output": "y", "baseline": None, "mode": None}


CLAIMS = [claim("a", 3, 1e-6, 1.1e-6, "reproduced"), claim("b", 3, 5e-6, 1e-8, "not reproduced"), claim("c", 4, 1e-6, 1e-3, "not reproduced")]


def test_labels_say_what_differs():
    assert figures_errors.labels_of(CLAIMS) == [f"cuda_thread_tile\nwindow={w}" for w in (3, 3, 4)], figures_errors.labels_of(CLAIMS)


def test_one_number_stands_together():
    places = figures_errors.slots_of(CLAIMS)
    assert sorted(places, key=places.get, reverse=True) == [0, 2, 1], places
    assert places[0] - places[2] < places[2] - places[1], "a gap between two numbers"


def test_the_figure():
    drawn = figures_errors.draw(reader.load([written(WORK, GOLDEN + CLAIMS)]), WORK)
    assert [path.name for path, _ in drawn] == ["errors_rolling.png"], drawn
    text = (WORK / "errors_rolling.svg").read_text()
    assert text.count("#009e73") >= 2 and text.count("#d55e00") >= 2, "points in the colours of their verdicts"
    assert not figures_errors.draw(reader.load([written(WORK, GOLDEN)]), WORK), "no errors were published"


def test_failing_rows_that_are_timed_under_a_bound_of_their_own_are_told_apart():
    good = next(line for line in GOLDEN if line["kind"] == "row" and line["verdict"] == "pass" and line["timing"] and line["backend"] == "cuda")
    strict, alone = copy.deepcopy(good), copy.deepcopy(good)
    strict |= {"verdict": "fail", "timing": None, "bound": {**good["bound"], "declared": not good["bound"]["declared"]}}
    alone |= {"verdict": "fail", "timing": None, "case": good["case"].replace("seed=", "seed=9"), "variant": "rolling/cuda_other", "spec": "rolling/cuda_other"}
    rest = [line for line in GOLDEN if line["kind"] == "environment"]
    text = report_summary.failures_line(reader.load([written(WORK, [*rest, good, strict, alone])]))
    without, looser = text.split("Outside the op's own bound")
    assert "cuda_other" in without and reader.name_of(good) not in without, text
    assert reader.name_of(good) in looser and "1 case" in looser, text


failures = run_every(globals())
FOLDER.cleanup()
sys.exit(1 if failures else 0)
