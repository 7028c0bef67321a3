"""The report says what the golden rows say: medians and verdicts are computed here a second time; markers, errors, figures."""
import copy
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

from every_test import run_every

SOURCE = pathlib.Path(os.environ.get("RUNGS_SOURCE", pathlib.Path(__file__).parents[2]))
GOLDEN = SOURCE / "tests/golden/rows.jsonl"
WORK = pathlib.Path(tempfile.mkdtemp(prefix="rungs_test_report_"))
LINES = [json.loads(text) for text in GOLDEN.read_text().splitlines()]
ROWS = [line for line in LINES if line["kind"] == "row"]

try:
    import matplotlib.image
except ImportError:
    print("matplotlib is not installed")
    sys.exit(77)


def report(*words, expect=0):
    done = subprocess.run([sys.executable, str(SOURCE / "plots/report.py"), *map(str, words)], capture_output=True, text=True)
    assert done.returncode == expect, f"exit code {done.returncode}, expected {expect}: {done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    return done.stderr


def write(name, lines):
    path = WORK / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def section(text, name):
    return re.search(rf"<!-- rungs:begin {name} -->\n(.*?)<!-- rungs:end {name} -->", text, re.S).group(1)


def table_line(text, *words):
    found = [line for line in text.splitlines() if line.startswith("|") and all(word in line for word in words)]
    assert found, f"no table line with {words}"
    return [cell.strip() for cell in found[0].strip("|").split(" | ")]


def table_cells(text, *words):
    """Column name -> cell of the first table line that holds the words."""
    lines = text.splitlines()
    at = next((k for k, line in enumerate(lines) if line.startswith("|") and all(word in line for word in words)), None)
    assert at is not None, f"no table line with {words}"
    head = next(k for k in range(at, 0, -1) if lines[k].startswith("| ---")) - 1
    return dict(zip(*([cell.strip() for cell in line.strip("|").split(" | ")] for line in (lines[head], lines[at]))))


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
    out = WORK / "REPORT.md"
    report(GOLDEN, "--out", out, "--figures", WORK / "figures")
    text = out.read_text()
    ladder = section(text, "ladder")
    copy_rate = next(c["value"] for line in LINES if line["kind"] == "ceilings" and line["device"] == "cuda" for c in line["ceilings"] if c["name"] == "copy")
    case = next(row for row in ROWS if row["variant"] == "rolling/cuda_naive")["case"]
    base = statistics.median(next(row for row in ROWS if row["variant"] == "rolling/cuda_naive")["timing"]["cold"]["samples"])
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
        assert abs(float(cells["of copy"].rstrip("%")) / 100 - rate / copy_rate) <= 0.06 * rate / copy_rate, cells
        gain = cells["over cuda_naive threads=128"]
        if "baseline" in gain:
            assert row["variant"] == "rolling/cuda_naive"
        else:
            assert abs(float(gain.split("x")[0]) - base / cold) <= 0.006 * base / cold, cells
        assert cells["verdict"] == "pass"
        checked += 1
    assert checked == 3, checked
    fast = statistics.median(next(row for row in ROWS if row["spec"] == "rolling/cuda_thread_tile threads=64 tile=48" and row["case"] == case)["timing"]["cold"]["samples"])
    claim = table_cells(section(text, "claims"), "cuda_thread_tile", "15.4x")
    assert abs(float(claim["ours (95% interval)"].split("x")[0]) - base / fast) < 0.06
    assert claim["verdict"] == "**reproduced**" and claim["size"] == "1e9" and claim["times"] == "cold" and claim["published"] == "15.4x"
    assert f"{claim['ours (95% interval)']}, reproduced" in section(text, "summary")
    assert table_line(section(text, "claims"), "cuda_shared")[-1] == "**not reproduced**"
    assert table_line(section(text, "claims"), "cuda_prefix_difference")[-1] == "not testable here"
    assert "produced at n = 1e9" in section(text, "claims")


def test_what_was_not_timed_is_said():
    text = (WORK / "REPORT.md").read_text()
    for row in ROWS:
        if row["verdict"] in ("fail", "error"):
            assert row["reason"] in section(text, "failed"), row["reason"]
            assert table_line(section(text, "failed"), row["verdict"], row["spec"].split("/")[1])
        if row["verdict"] == "skip":
            assert row["reason"] in section(text, "skipped")
    assert "verified (emulated), not timed" in section(text, "emulated")
    failed = table_line(section(text, "accuracy"), "cuda_thread_tile ")
    assert failed.count("**fail**") == 2, failed
    for word in ("NVIDIA H200", "580.95.05", "700 W", "ECC on", "MIG off", "0123456789abcdef", "empty launch"):
        assert word in section(text, "machine"), word


def test_the_card_is_of_a_run_with_ceilings():
    """A later run that only verified does not take its place."""
    environment = next(line for line in LINES if line["kind"] == "environment" and line["gpu"])
    row = next(row for row in ROWS if row["run"] == environment["run"] and row["verdict"] == "pass")
    later = [{**environment, "run": "later", "date": "2099-01-01T00:00:00Z", "commit": "f" * 40}, {**row, "run": "later", "case": row["case"] + "0"}]
    out = WORK / "verified.md"
    report(write("verified.jsonl", LINES + later), "--out", out, "--figures", WORK / "figures_verified")
    card = section(out.read_text(), "machine").split("The rows come from several runs")[0]
    assert environment["commit"] in card and "f" * 40 not in card and "empty launch" in card, card


def test_without_a_gpu():
    laptop = [line for line in LINES if line["run"].endswith("2")]
    out = WORK / "laptop.md"
    report(write("laptop.jsonl", laptop), "--out", out, "--figures", WORK / "figures_laptop")
    text = out.read_text()
    assert "No GPU was used: nothing here is a time of a CUDA kernel" in section(text, "summary")
    assert "not timed" in section(text, "emulated")
    assert "Nothing was timed." in section(text, "ladder")
    assert "nvidia-smi cannot be run" in section(text, "machine")


def test_text_outside_the_markers_is_kept():
    out = WORK / "kept.md"
    out.write_text("my words before\n<!-- rungs:begin summary -->\nBEFORE\n<!-- rungs:end summary -->\nmy words after\n")
    notes = report(GOLDEN, "--out", out, "--no-figures")
    text = out.read_text()
    assert text.startswith("my words before\n<!-- rungs:begin summary -->\n- 14 rows (") and text.endswith("<!-- rungs:end summary -->\nmy words after\n"), text
    assert "BEFORE" not in text and "no markers for 'ladder'" in notes
    report(GOLDEN, "--out", out, "--no-figures")
    assert out.read_text() == text, "a second run changes nothing"


def test_broken_markers_leave_the_file():
    for text, message in (("no markers at all\n", "markers"), ("<!-- rungs:begin a -->\n", "never ends"), ("<!-- rungs:end a -->\n", ":1: 'a' ends"),
                          ("<!-- rungs:begin a -->\n<!-- rungs:begin b -->\n", ":2: 'b' begins before 'a'")):
        out = WORK / "broken.md"
        out.write_text(text)
        assert message in report(GOLDEN, "--out", out, "--no-figures", expect=2)
        assert out.read_text() == text


def test_unusable_results():
    out = WORK / "none.md"
    empty = write("empty.jsonl", [])
    assert f"{empty}: no rows" in report(empty, "--out", out, expect=3)
    assert "no rows" in report(write("environment_only.jsonl", LINES[:1]), "--out", out, expect=3)
    bad = WORK / "bad.jsonl"
    bad.write_text(json.dumps(LINES[0]) + "\n{oops\n")
    assert f"{bad}:2:" in report(bad, "--out", out, expect=2)
    assert "missing.jsonl" in report(WORK / "missing.jsonl", "--out", out, expect=2)
    assert "schema 9" in report(write("future.jsonl", [{**LINES[0], "schema": 9}]), "--out", out, expect=2)
    assert not out.exists()
    cut = WORK / "cut.jsonl"
    cut.write_text(GOLDEN.read_text() + '{"kind": "ro')
    assert "cut off" in report(cut, "--out", WORK / "cut.md", "--no-figures")


def test_the_latest_row_wins():
    new = copy.deepcopy([line for line in LINES if line["kind"] == "environment"][:1] + [row for row in ROWS if row["variant"] == "rolling/cuda_naive"])
    for line in new:
        line["run"] = "20270101T000000Z-00000009"
    new[0]["date"] = "2027-01-01T00:00:00Z"
    new[1]["timing"]["cold"]["median"] = 7.25
    out = WORK / "latest.md"
    for order in ((write("new.jsonl", new), GOLDEN), (GOLDEN, WORK / "new.jsonl")):
        report(*order, "--out", out, "--no-figures")
        assert table_cells(section(out.read_text(), "ladder"), "| cuda_naive threads=128 |", "baseline")["cold (95% interval)"].startswith("7.250 s")


def test_more_than_the_ceiling_is_flagged():
    lines = copy.deepcopy(LINES)
    for line in lines:
        if line.get("variant") == "rolling/cuda_shared" and line["kind"] == "row" and line["timing"]:
            line["work"]["bytes"] *= 1e6
    out = WORK / "flag.md"
    report(write("flag.jsonl", lines), "--out", out, "--no-figures")
    assert "**(!)**" in table_cells(section(out.read_text(), "ladder"), "| cuda_shared threads=128 |")["of copy"]
    assert "wrong byte count" in section(out.read_text(), "ladder")


def test_nulls_and_missing_keys():
    """Any key that the reader does not insist on may be null or absent."""
    rng = random.Random(3)
    kept = {"kind", "schema", "run", "case", "op", "variant", "spec", "verdict", "backend", "params", "name", "device", "id"}
    for attempt in range(12):
        lines = copy.deepcopy(LINES)
        for line in lines:
            for holder in [line, *(v for v in line.values() if isinstance(v, dict) and v is not line.get("errors") and v is not line.get("timing"))]:
                for key in list(holder):
                    if key in kept or rng.random() > 0.15:
                        continue
                    if rng.random() < 0.5:
                        holder[key] = None
                    else:
                        del holder[key]
        words = ["--figures", WORK / "figures_nulls"] if attempt % 4 == 0 else ["--no-figures"]
        report(write("nulls.jsonl", lines), "--out", WORK / f"nulls{attempt}.md", *words)


def test_figures():
    rows = WORK / "full.jsonl"
    with open(rows, "w") as file:
        subprocess.run([sys.executable, str(SOURCE / "tests/golden/make_rows.py"), "gpu"], stdout=file, check=True)
    out, folder = WORK / "full.md", WORK / "figures_full"
    report(rows, "--out", out, "--figures", folder)
    linked = re.findall(r"!\[.*?\]\((.*?)\)", out.read_text())
    wanted = {"ladder_rolling", "claims_rolling", "window_rolling_f64", "window_rolling_f32", "ceiling_rolling", "accuracy_rolling_f64", "accuracy_rolling_f32"}
    if shutil.which("gnuplot"):
        wanted |= {"throughput_rolling_f64", "throughput_rolling_f32"}
    assert wanted <= {pathlib.Path(link).stem for link in linked}, linked
    for link in linked:
        png = out.parent / link
        picture = matplotlib.image.imread(png)
        assert picture.shape[1] >= 1000 and picture.shape[0] >= 400, (link, picture.shape)
        ink = (picture[..., :3].min(axis=2) < 0.9).mean()
        assert 0.005 < ink < 0.6, (link, ink)
        assert png.with_suffix(".svg").stat().st_size > 5000, link
    seen = (folder / "window_rolling_f64.svg").read_text()
    report(rows, "--out", out, "--figures", folder)
    assert (folder / "window_rolling_f64.svg").read_text() == seen, "the same rows give the same figure"


def test_sweeps_are_those_of_the_rows():
    rows = [line for line in map(json.loads, (WORK / "full.jsonl").read_text().splitlines()) if line["kind"] == "row"]
    copy_rate = 4.19e12
    text = re.search(r"\*\*rolling mean, n = 1e8, f64, input \w+\*\*\n\n(.*?)95% intervals", section((WORK / "full.md").read_text(), "ladder"), re.S).group(1)
    checked = 0
    for row in rows:
        params = row["params"]
        if row["variant"] != "rolling/cuda_naive" or not row["timing"] or (params["agg"], params["n"], row["dtype"]) != ("mean", 10**8, "f64"):
            continue
        cold = statistics.median(row["timing"]["cold"]["samples"])
        cell = table_cells(text, "| cuda_naive threads=128 |")[f"w = {params['window']}"]
        time, unit, share = re.fullmatch(r"([\d.,]+) (\w+), ([\d.]+)%", cell).groups()
        assert abs(float(time.replace(",", "")) * {"s": 1, "ms": 1e-3, "us": 1e-6}[unit] - cold) <= 0.006 * cold, (cell, cold)
        assert abs(float(share) / 100 - 1.6e9 / cold / copy_rate) <= 0.051 * 1.6e9 / cold / copy_rate, (cell, cold)
        checked += 1
    assert checked >= 4, checked


try:
    failures = run_every(globals())
finally:
    shutil.rmtree(WORK)
sys.exit(1 if failures else 0)
