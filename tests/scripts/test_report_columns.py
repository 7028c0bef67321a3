"""An op on columns of strings in the report: curves beside the source's points, counts beside the printed ones, a timeline beside the rows."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("RUNGS_SOURCE", pathlib.Path(__file__).parents[2]))
WORK = pathlib.Path(tempfile.mkdtemp(prefix="rungs_test_columns_"))
sys.path.insert(0, str(SOURCE / "plots"))

try:
    import matplotlib.image
except ImportError:
    print("matplotlib is not installed")
    sys.exit(77)

import choose
import figures_curves
import published
import report_counts
import rows as r
import timeline


def invented():
    text = subprocess.run([sys.executable, str(SOURCE / "tests/golden/make_columns.py")], capture_output=True, text=True, check=True).stdout
    path = WORK / "rows.jsonl"
    path.write_text(text)
    return path, [json.loads(line) for line in text.splitlines()]


def report(*words):
    done = subprocess.run([sys.executable, str(SOURCE / "plots/report.py"), *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    return done.stderr


def row_of(lines, spec, rows):
    return next(line for line in lines if line.get("spec") == "redact/" + spec and line["params"]["rows"] == rows)


def check_printed():
    points = published.points("redact")
    assert points.said["hardware"] == "NVIDIA RTX A6000" and len(points.lines) == 50, len(points.lines)
    gains = figures_curves.printed_lines(points, "speedup")
    assert gains["cuda_two_pass", "pool"][0] == (600000, 27.4) and gains["cuda_two_pass", "pool"][-1] == (10000000, 15.0)
    rates = figures_curves.printed_lines(points, "gb_per_s")
    assert len(rates) == 6 and all(len(line) == 7 for line in rates.values()), "each variant with each memory at each size"
    assert published.points("moments") is None and published.points("no such op") is None
    assert published.series("redact", "rows", {"params": {"rows": 1}, "dtype": "i32"}) is None, "points are no table of times"


def check_curves(path, lines):
    results = r.load([path])
    rows = figures_curves.measured_rows(results, "redact", {"cuda_api_pipeline", "cuda_two_pass"})
    gains = figures_curves.measured_lines(rows, figures_curves.speedup_of(rows, ("cuda_api_pipeline", "cuda")))
    base, fast = (row_of(lines, spec, 2000000)["timing"]["cold"]["median"] for spec in ("cuda_api_pipeline memory=cuda", "cuda_two_pass memory=pool"))
    assert abs(dict(gains["cuda_two_pass", "pool"])[2000000] - base / fast) < 1e-9
    assert all(value == 1 for _, value in gains["cuda_api_pipeline", "cuda"])
    rates = figures_curves.measured_lines(rows, figures_curves.rate_of)
    assert abs(dict(rates["cuda_two_pass", "pool"])[2000000] - 37.7 * 2e6 / fast / 1e9) < 1e-9
    other = json.loads(json.dumps(rows[0]))
    other["params"]["nulls"] = "some"
    assert not figures_curves.is_plain(other) and figures_curves.is_plain(rows[0]), "rows with nulls are no point of the curve"


def check_report(path, lines):
    shutil.copy(SOURCE / "tests/golden/timeline.json", WORK / "an-op-timeline.json")
    out, folder = WORK / "R.md", WORK / "figures"
    report(path, "--out", out, "--figures", folder)
    text = out.read_text()
    names = {pathlib.Path(link).stem for link in re.findall(r"!\[.*?\]\((.*?)\)", text)}
    assert {"curves_redact_speedup", "curves_redact_throughput", "timeline_redact"} <= names, names
    for name in names:
        picture = matplotlib.image.imread(folder / f"{name}.png")
        assert 0.005 < (picture[..., :3].min(axis=2) < 0.9).mean() < 0.6, name
    table = text[text.index("#### Launches, bytes and memory of a call"):]
    cells = [cell.strip() for cell in next(line for line in table.splitlines() if line.startswith("| cuda_two_pass memory=cuda")).strip("|").split(" | ")]
    time = row_of(lines, "cuda_two_pass memory=cuda", 5000000)["timing"]["cold"]["median"]
    assert cells[1] == f"{1e6 * time:.0f} us (760 us)" and cells[3:5] == ["3 (4)", "1.60 (1.75)"], cells
    assert cells[5:9] == [f"{1e-4 / time:.0%}", "32", "100%", "3"], cells
    assert cells[2] == f"{37.7 * 5 / time / 1e3:.0f} (248)", cells
    assert "In brackets: Wendt and Kimball" in table
    before = (folder / "timeline_redact.svg").read_text()
    (WORK / "an-op-timeline.json").write_text("{")
    assert "no timeline" in report(path, "--out", out, "--figures", folder) and "timeline_redact" not in out.read_text()
    (WORK / "an-op-timeline.json").unlink()
    report(path, "--out", out, "--figures", folder)
    assert "timeline" not in out.read_text().split("## Ladder")[1].split("### redact")[0] and before.startswith("<?xml")


def check_without_counts(lines):
    for line in lines:
        if line["kind"] == "row":
            line["counts"] = None
    path = WORK / "uncounted.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    report(path, "--out", WORK / "U.md", "--no-figures")
    assert "#### Launches" not in (WORK / "U.md").read_text()
    partial = {"counts": {"launches": 3, "bytes_read": 5.0}, "work": {"bytes": 10.0}}
    assert report_counts.over_minimum(partial) is None, "half of the bytes are no bytes"


def check_titles():
    case = "redact rows=600000 nulls=none slice=none names_bytes=0 visibilities_bytes=0 redacted_bytes=0 dtype=i32 input=names seed=1"
    assert choose.describe_text(case) == "redact, rows = 600000, i32, input names"
    assert choose.describe_text(case.replace("nulls=none", "nulls=some").replace("seed=1", "seed=7")) == "redact nulls some, rows = 600000, i32, input names, seed 7"
    assert timeline.title_of({"title": f"redact/cuda_two_pass memory=pool: {case}"}) == "cuda_two_pass memory=pool: redact, rows = 600000, i32, input names"
    assert timeline.title_of({"title": "by hand"}) == "by hand"


def main():
    path, lines = invented()
    check_printed()
    check_curves(path, lines)
    check_report(path, lines)
    check_without_counts(lines)
    check_titles()
    shutil.rmtree(WORK)


if __name__ == "__main__":
    main()
