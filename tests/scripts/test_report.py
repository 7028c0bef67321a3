"""The report and the pages of ops say what the golden rows say: medians and outcomes are computed here a second time; errors, figures."""

import copy
import json
import random
import re
import shutil
import statistics

from report_page import (
    GOLDEN,
    GOLDEN_FILE,
    ROWS,
    WORK,
    drawn,
    links,
    made_by,
    op_page,
    report,
    section,
    table_cells,
    table_line,
    written,
)

from analysis import select
from analysis.report import claims
from plots import figures_sweep


def as_text(seconds):
    """Four significant digits with a unit, written otherwise than the report does it."""
    for unit, factor in (("s", 1), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)):
        if seconds * factor >= 1:
            return f"{float(f'{seconds * factor:.4g}'):g} {unit}"
    raise AssertionError(seconds)


def same_time(cell, seconds):
    value, unit = cell.split()[:2]
    return f"{float(value.replace(',', '')):g} {unit}" == as_text(seconds)


def test_numbers_are_those_of_the_rows():
    text, _ = report(GOLDEN_FILE)
    ladder = section(op_page(), "Ladder and sweeps")
    case = next(row for row in ROWS if row["variant"] == "rolling/cuda_naive")["case"]
    base = statistics.median(
        next(row for row in ROWS if row["variant"] == "rolling/cuda_naive")["timing"]["cold"]["samples"]
    )
    checked = 0
    for row in ROWS:
        if not row["timing"] or row["case"] != case or row["backend"] != "cuda":
            continue
        cold = statistics.median(row["timing"]["cold"]["samples"])
        cells = table_cells(ladder, "| " + row["spec"].split("/")[1] + " |")
        assert same_time(cells["cold (95% interval)"], cold), (cells, cold)
        assert same_time(cells["hot"], statistics.median(row["timing"]["hot"]["samples"]))
        rate = 2 * 8 * row["params"]["n"] / cold
        assert abs(float(cells["GB/s"].replace(",", "")) - rate / 1e9) <= 0.0006 * rate / 1e9, cells
        gain = cells["over cuda_naive threads=128"]
        if "baseline" in gain:
            assert row["variant"] == "rolling/cuda_naive"
        else:
            assert abs(float(gain.split("x")[0]) - base / cold) <= 0.006 * base / cold, cells
        assert cells["verdict"] == "pass"
        checked += 1
    assert checked == 3, checked
    fast = statistics.median(
        next(
            row for row in ROWS if row["spec"] == "rolling/cuda_thread_tile threads=64 tile=48" and row["case"] == case
        )["timing"]["cold"]["samples"]
    )
    claim = table_cells(section(text, "Statements"), "rolling", "15.4x")
    assert abs(float(claim["here"].split("x")[0]) - base / fast) < 0.06
    assert claim["outcome"] == "holds (r)" and claim["published, on"].startswith("15.4x"), claim
    known = table_cells(section(op_page(), "Published claims"), "rolling", "15.4x")
    assert (
        known["reimplementation"].endswith(" holds")
        and known["original"] == known["ours"] == "-"
        and known["size"] == "1e9"
        and known["published"] == "15.4x"
    ), known
    few, _ = report(
        written(
            [{**line, "processes": 3, "provisional": True} if line["kind"] == "claim" else line for line in GOLDEN]
        ),
        "--no-figures",
        out="few.md",
    )
    assert table_cells(section(few, "Statements"), "rolling", "15.4x")["outcome"] == "holds\u2020 (r)"
    report(GOLDEN_FILE)
    outcomes = [
        cell
        for line in GOLDEN
        if line["kind"] == "claim"
        for cell in table_line(section(op_page(), "Published claims"), claims.statement_of(line)[:60])[-6:-2]
    ]
    assert sorted(re.sub(r".*[x)] ", "", cell) for cell in outcomes if cell != "-") == [
        "another size",
        "holds",
        "not run",
    ], outcomes
    first = section(text, "Abstract")
    assert "speed-ups 1 of 2 in size (1 same direction, another size); 1 not run" in first, first
    best = min(
        (row for row in ROWS if row["case"] == case and row["timing"]), key=lambda row: row["timing"]["cold"]["median"]
    )
    assert f"`{best['variant'].split('/')[1]}`" in section(text, "Who is fastest where"), "the fastest is named"
    assert re.search(r"\b3 rows of 1\d failed", first) and "`rolling/cuda_thread_tile`" in first, first


def test_what_was_not_timed_is_said():
    text, _ = report(GOLDEN_FILE, "--no-figures")
    page = op_page()
    for row in ROWS:
        if row["verdict"] in ("fail", "error"):
            assert row["reason"] in section(page, "Failed verification"), row["reason"]
            assert table_line(section(page, "Failed verification"), row["verdict"], row["spec"].split("/")[1])
        if row["verdict"] == "skip":
            assert row["reason"] in section(page, "Skipped")
    assert "emulated on the CPU" in section(page, "Accuracy")
    failed = table_line(section(page, "Accuracy"), "cuda_thread_tile ")
    assert failed.count("**fail**") == 2, failed
    untested = section(text, "Limits of this study")
    assert "not run" in untested and "ran in the emulator" in untested, untested
    for word in ("NVIDIA H200", "580.95.05", "700 W", "ECC on", "MIG off", "0123456789abcdef", "empty launch"):
        assert word in section(text, "Machine"), word


def test_the_card_is_of_a_run_with_ceilings():
    """A later run that only verified does not take its place."""
    environment = next(line for line in GOLDEN if line["kind"] == "environment" and line["gpu"])
    row = next(row for row in ROWS if row["run"] == environment["run"] and row["verdict"] == "pass")
    later = [
        {**environment, "run": "later", "date": "2099-01-01T00:00:00Z", "commit": "f" * 40},
        {**row, "run": "later", "case": row["case"] + "0"},
    ]
    text, _ = report(written(GOLDEN + later), "--no-figures")
    card = section(text, "Machine").split("The rows come from several runs")[0]
    assert environment["commit"] in card and "f" * 40 not in card and "empty launch" in card, card


def test_without_a_gpu():
    text, _ = report(written([line for line in GOLDEN if line["run"].endswith("2")]))
    assert "No GPU was used: nothing here is a time of a CUDA kernel" in section(text, "Abstract")
    assert "Nothing was timed" in text and "No published claim was judged" in text
    assert "emulated on the CPU" in section(op_page(), "Accuracy")
    assert "Nothing was timed." in section(op_page(), "Ladder and sweeps")
    assert "nvidia-smi cannot be run" in section(text, "Machine")


def test_a_second_run_changes_nothing():
    text = report(GOLDEN_FILE, "--no-figures", out="again.md")[0]
    assert report(GOLDEN_FILE, "--no-figures", out="again.md")[0] == text


def test_unusable_results():
    def refused(path, expect):
        return report(path, out="none.md", expect=expect)[1]

    empty, bad = written([], "empty.jsonl"), WORK / "bad.jsonl"
    assert f"{empty}: no rows" in refused(empty, 3)
    assert "no rows" in refused(written(GOLDEN[:1]), 3)
    bad.write_text(json.dumps(GOLDEN[0]) + "\n{oops\n")
    assert f"{bad}:2:" in refused(bad, 2)
    assert "missing.jsonl" in refused(WORK / "missing.jsonl", 2)
    assert "schema is 9" in refused(written([{**GOLDEN[0], "schema": 9}]), 2)
    assert not (WORK / "none.md").exists()
    bad.write_text(GOLDEN_FILE.read_text() + '{"kind": "ro')
    assert "cut off" in report(bad, "--no-figures")[1]


def cold_of(pages=None):
    return table_cells(section(op_page(), "Ladder and sweeps"), "| cuda_naive threads=128 |", "baseline")[
        "cold (95% interval)"
    ]


def another_run(**environment):
    """The naive kernel once more, 7.25 s in another run."""
    new = copy.deepcopy(
        [line for line in GOLDEN if line["kind"] == "environment"][:1]
        + [row for row in ROWS if row["variant"] == "rolling/cuda_naive"]
    )
    for line in new:
        line["run"] = "20270101T000000Z-00000009"
    new[0] |= {"date": "2027-01-01T00:00:00Z", **environment}
    new[1]["timing"]["cold"] |= {"median": 7.25, "samples": [7.25]}
    return new


def test_the_latest_row_wins():
    new = another_run(id="0123456789abcdef")
    for order in ((written(new), GOLDEN_FILE), (GOLDEN_FILE, written(new))):
        report(*order, "--no-figures")
        assert cold_of().startswith("7.250 s")


def test_processes_of_one_environment_are_pooled():
    old = next(row for row in ROWS if row["variant"] == "rolling/cuda_naive")["timing"]["cold"]["median"]
    report(GOLDEN_FILE, written(another_run()), "--no-figures")
    assert cold_of() == f"{(old + 7.25) / 2:.3f} s ({old * 1e3:.1f} to {7.25e3:,.1f})" or cold_of().startswith(
        f"{(old + 7.25) / 2:.3f} s ("
    ), cold_of()
    report(GOLDEN_FILE, GOLDEN_FILE, "--no-figures")
    assert same_time(cold_of(), old), "a file that is given twice is one process"


def test_nulls_and_missing_keys():
    """Any key that the reader does not insist on may be null or absent."""
    rng = random.Random(3)
    kept = {
        "kind",
        "schema",
        "run",
        "case",
        "op",
        "variant",
        "spec",
        "verdict",
        "backend",
        "outcome",
        "params",
        "name",
        "device",
        "id",
    }
    for attempt in range(12):
        lines = copy.deepcopy(GOLDEN)
        for line in lines:
            for holder in [
                line,
                *(
                    v
                    for v in line.values()
                    if isinstance(v, dict) and v is not line.get("errors") and v is not line.get("timing")
                ),
            ]:
                for key in list(holder):
                    if key in kept or rng.random() > 0.15:
                        continue
                    if rng.random() < 0.5:
                        holder[key] = None
                    else:
                        del holder[key]
        report(written(lines), *([] if attempt % 4 == 0 else ["--no-figures"]), out=f"nulls{attempt}.md")


FULL = made_by("make_rows.py", "gpu", name="full.jsonl")


def test_figures():
    folder = WORK / "figures_full"
    with drawn() as pictures:
        text, _ = report(FULL, "--figures", folder)
    everywhere = text + op_page()
    names = {link.stem for link in links(everywhere)}
    wanted = {"ladder_rolling", "claims"}
    assert wanted <= set(pictures), pictures.keys()
    if shutil.which("gnuplot"):
        wanted |= {"sweep_rolling_window_f64", "sweep_rolling_window_f32"}
        sweep = next(
            some for some in figures_sweep.sweeps(select.load([FULL])) if some.name == "sweep_rolling_window_f64"
        )
        assert 3 <= len(sweep.keys) <= figures_sweep.MOST_COLOURED and sweep.failed is not None
        drawing = (folder / "sweep_rolling_window_f64.svg").read_text()
        for key in sweep.keys:
            assert sweep.label(key) in drawing, f"{key} is named at its line"
        text_drawing = sweep.draw(dumb=True, size=(90, 24))
        assert sweep.label(sweep.keys[0]) in text_drawing and max(map(len, text_drawing.splitlines())) <= 90
    assert wanted <= names, names
    assert names <= {path.stem for path in folder.glob("*.svg")}
    for link in links(text):
        assert (WORK / link).suffix == ".svg" and (WORK / link).stat().st_size > 5000, link
    seen = (folder / "ladder_rolling.svg").read_text()
    report(FULL, "--figures", folder)
    assert (folder / "ladder_rolling.svg").read_text() == seen, "the same rows give the same figure"


def test_sweeps_are_those_of_the_rows():
    rows = [line for line in map(json.loads, FULL.read_text().splitlines()) if line["kind"] == "row"]
    report(FULL, "--no-figures")
    text = re.search(
        r"\*\*rolling mean, n = 1e8, f64, input \w+\*\*\n\n(.*?)95% intervals",
        section(op_page(), "Ladder and sweeps"),
        re.S,
    ).group(1)
    checked = 0
    for row in rows:
        params = row["params"]
        if (
            row["variant"] != "rolling/cuda_naive"
            or not row["timing"]
            or (params["agg"], params["n"], row["dtype"]) != ("mean", 10**8, "f64")
        ):
            continue
        cold = statistics.median(row["timing"]["cold"]["samples"])
        cell = table_cells(text, "| cuda_naive threads=128 |")[f"w = {params['window']}"]
        time, unit = cell.split(" ")
        assert abs(float(time.replace(",", "")) * {"s": 1, "ms": 1e-3, "us": 1e-6}[unit] - cold) <= 0.006 * cold, (
            cell,
            cold,
        )
        checked += 1
    assert checked >= 4, checked
