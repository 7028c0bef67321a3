"""Beside the claims of an op the report says how their scenario begins, and draws when a call returns, when it is done, and the GPU's own time."""
import copy
import pathlib
import subprocess
import sys
import tempfile

from every_test import run_every
from golden_rows import GOLDEN, SOURCE, written

import figures_enqueue
import openings
import rows as reader

FOLDER = tempfile.TemporaryDirectory(prefix="rungs_test_enqueue_")
WORK = pathlib.Path(FOLDER.name)


def as_timed_by_enqueue(keep=lambda row: True):
    """The golden lines, their claims about the time to enqueue; `complete` taken from the rows that are not kept."""
    lines = copy.deepcopy(GOLDEN)
    for line in lines:
        if line["kind"] == "claim":
            line.update(mode="enqueue", baseline_mode="cold")
        elif line["kind"] == "row" and line["timing"] and not keep(line):
            del line["timing"]["complete"]
    return written(WORK, lines)


def drawn(path):
    results = reader.load([path])
    return [text for _, text in figures_enqueue.draw(results, WORK)], *figures_enqueue.pick(results, "rolling")


def names(rows):
    return {row["variant"] for row in rows}


def test_done_is_complete_where_rows_have_it():
    texts, rows, late = drawn(as_timed_by_enqueue())
    assert late == "complete" and len(texts) == 1 and "until the work is done" in texts[0], texts
    assert {"rolling/cuda_naive", "rolling/peer_cupy"} <= names(rows) and "rolling/cpu_best" not in names(rows), names(rows)
    assert [reader.median(row, "complete") for row in rows] == sorted(reader.median(row, "complete") for row in rows)


def test_older_rows_show_the_gpu_alone_and_say_so():
    texts, rows, late = drawn(as_timed_by_enqueue(lambda row: False))
    assert late == "hot" and len(texts) == 1 and "GPU alone" in texts[0] and "done" not in texts[0], texts
    assert "rolling/cuda_naive" in names(rows)


def test_rows_old_and_new_are_not_mixed():
    _, rows, late = drawn(as_timed_by_enqueue(lambda row: row["variant"] != "rolling/cuda_naive"))
    assert late == "complete" and "rolling/cuda_naive" not in names(rows) and "rolling/cuda_shared" in names(rows)


def test_host_time_is_not_the_gpus_own():
    row = copy.deepcopy(next(line for line in GOLDEN if line["kind"] == "row" and line["backend"] == "cuda" and line["timing"]))
    assert figures_enqueue.alone(row) == row["timing"]["hot"]["median"]
    for clock in ("steady clock", "cuda events, not queued ahead: the call waits for the device", None):
        row["timing"]["hot"]["clock"] = clock
        assert figures_enqueue.alone(row) is None, clock


def test_the_first_paragraph():
    text = "title: t\nabout: >\n  One sum: 1\n  and 2. Two. What\n  to know:\n\n\n  More.\nsuites:\n  - op: x\n"
    assert openings.first_paragraph(text) == "One sum: 1 and 2. Two."
    assert openings.first_paragraph("title: t\nabout: >\n  Only this\nsuites:\n") == "Only this"
    assert openings.first_paragraph("title: t\nsuites:\n  - op: x\n") == ""


def test_which_scenarios_are_opened():
    for path in (SOURCE / "scenarios/published").glob("*.yaml"):
        assert len(openings.opening_of(f"published/{path.stem}")) > 50, path
    (WORK / "own").mkdir()
    (WORK / "own/mine.yaml").write_text((SOURCE / "scenarios/published/rolling.yaml").read_text())
    for name in (None, "", "published/nothing", str(WORK / "own/mine"), "published"):
        assert openings.opening_of(name) == "", name


def test_the_report_prints_it_above_the_tables():
    path, out = as_timed_by_enqueue(), WORK / "REPORT.md"
    subprocess.run([sys.executable, str(SOURCE / "plots/report.py"), str(path), "--out", str(out), "--figures", str(WORK / "figures")], check=True, capture_output=True)
    text = out.read_text()
    begin = text.index("### rolling\n\n" + openings.opening_of("published/rolling") + "\n\n")
    assert begin < text.index("figures/enqueue_rolling.png") < text.index("#### Speed-ups", begin)
    assert text.count(openings.opening_of("published/rolling")) == 1


failures = run_every(globals())
FOLDER.cleanup()
sys.exit(1 if failures else 0)
