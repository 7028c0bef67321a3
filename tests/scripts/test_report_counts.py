"""Counts of calls in the report: one compact table an op, whose numbers are computed here a second time."""
import copy
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from every_test import run_every

SOURCE = pathlib.Path(os.environ.get("RUNGS_SOURCE", pathlib.Path(__file__).parents[2]))
WORK = pathlib.Path(tempfile.mkdtemp(prefix="rungs_test_counts_"))
LINES = [json.loads(text) for text in (SOURCE / "tests/golden/rows.jsonl").read_text().splitlines()]
sys.path.insert(0, str(SOURCE / "plots"))

import report_counts

BYTES, COLD = 1000.0, 2e-3


def counts(**other):
    return {"launches": 1, "kernel_seconds": 1e-3, "bytes_read": 600.0, "bytes_written": 900.0, "registers": 40, "occupancy": 0.4375, "allocations": 0, "peak_bytes": 3 << 20, **other}


def row(variant, agg="mean", n=1000, cold=COLD, tunables="", scenario="sweeps/x", dtype="f64", **counted):
    return {"kind": "row", "case": f"rolling agg={agg} n={n} dtype={dtype}", "op": "rolling", "params": {"agg": agg, "n": n, "function": "none"}, "dtype": dtype, "input": "uniform",
            "seed": 1, "variant": f"rolling/{variant}", "spec": f"rolling/{variant}{tunables}", "scenario": scenario, "backend": "cuda", "verdict": "pass",
            "work": {"bytes": BYTES}, "timing": {"cold": {"median": cold}} if cold else None, "counts": counts(**counted)}


def text_of(rows):
    return report_counts.counts_of_op("rolling", rows, lambda some: some["case"])


def tables(rows):
    """(the table's title, its lines as {column: cell})."""
    lines = text_of(rows).splitlines()
    header, _, *body = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("|")]
    return next(line for line in lines if line.startswith("**")).strip("*"), [dict(zip(header, line)) for line in body]


def test_numbers():
    _, lines = tables([row("a", kernel_seconds=1.5e-3, launches=1234, allocations=3), row("b", cold=1e-3, kernel_seconds=1.2e-3)])
    assert lines[0] == {"variant": "b", "launches": "1", "bytes over minimum": "1.50", "kernels / cold": "120%", "registers": "40", "occupancy": "43.8%", "allocations": "-",
                        "peak": "3.00 MiB"}, lines[0]
    assert lines[1] == {"variant": "a", "launches": "1,234", "bytes over minimum": "1.50", "kernels / cold": "75%", "registers": "40", "occupancy": "43.8%", "allocations": "3",
                        "peak": "3.00 MiB"}, lines[1]


def test_what_was_not_counted():
    uncounted = row("c")
    uncounted["counts"] = None
    assert text_of([uncounted]) == ""
    _, lines = tables([row("a", bytes_read=None, kernel_seconds=None, registers=None), row("b", cold=None), row("d", cold=1e-9), uncounted])
    assert [line["variant"] for line in lines] == ["d", "a", "b"]
    lines = lines[1:]
    assert lines[0]["bytes over minimum"] == lines[0]["kernels / cold"] == lines[0]["registers"] == "-" and lines[0]["launches"] == "1"
    assert lines[1]["kernels / cold"] == "-" and lines[1]["bytes over minimum"] == "1.50" and "allocations" not in lines[1] and "case" not in lines[1]
    bare = row("a")
    bare["counts"] = {"seconds": 0.5}
    for key in ("params", "dtype", "input", "scenario", "work", "timing"):
        bare[key] = None
    assert "| a |" in text_of([bare])


def test_the_case_with_most_variants():
    many = [row(v, agg="max") for v in "abc"]
    few = [row(v, n=10**6, scenario="gate/x") for v in "ab"]
    assert tables(few + many)[0] == many[0]["case"]
    tuned = [row("a", agg="min", tunables=f" threads={t}") for t in (32, 64, 128, 256)]
    assert tables(tuned + many)[0] == many[0]["case"], "four tunings are one variant"
    gate = [row(v, scenario="gate/x") for v in "abc"]
    for rows in (gate + many, many + gate):
        assert tables(rows)[0] == gate[0]["case"], "of as many the gate's"
    large = [row(v, n=10**9) for v in "abc"]
    for some in large:
        some["work"] = {"bytes": 1e10}
    assert tables(large + many)[0] == large[0]["case"] and tables(large + gate)[0] == gate[0]["case"]


def test_variants_of_other_cases():
    main = [row(v, cold=c) for v, c in (("a", 3e-3), ("b", 2e-3), ("c", 1e-3))]
    title, lines = tables([row("d", agg="max", n=2 * 10**6, dtype="f32", cold=1e-9), row("a", agg="max", cold=1e-9), *main])
    assert title == main[0]["case"] and [line["variant"] for line in lines] == ["c", "b", "a", "d"], lines
    assert [line["case"] for line in lines] == ["-", "-", "-", "agg max, n 2e6, f32"], lines


def test_not_too_many_lines():
    tuned = [row("a", tunables=f" threads={k:02}", cold=1e-6 * (k + 1)) for k in range(20)]
    slow = [row(v, cold=1.0) for v in "bcd"]
    _, lines = tables(tuned + slow + [row("e", agg="max")])
    names = [line["variant"] for line in lines]
    assert len(names) == report_counts.MOST_LINES == 12
    assert names == [f"a threads={k:02}" for k in range(8)] + ["b", "c", "d"] + ["e"], names


def report(lines):
    path, out = WORK / "rows.jsonl", WORK / "R.md"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    out.unlink(missing_ok=True)
    done = subprocess.run([sys.executable, str(SOURCE / "plots/report.py"), str(path), "--out", str(out), "--no-figures"], capture_output=True, text=True)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    return out.read_text()


def test_whole_report():
    assert report_counts.HEADING not in report(LINES) and "bytes over minimum" not in report(LINES)
    lines = copy.deepcopy(LINES)
    rows = [line for line in lines if line["kind"] == "row" and line["backend"] == "cuda" and line.get("timing")]
    for some in rows:
        size, cold = some["work"]["bytes"], some["timing"]["cold"]["median"]
        some["counts"] = counts(bytes_read=size, bytes_written=0.25 * size, kernel_seconds=0.5 * cold, peak_bytes=5 << 30)
    text = report(lines)
    assert text.count(report_counts.HEADING) == 1 and text.count("- *bytes over minimum*: ") == 1
    table = text[text.index(report_counts.HEADING):]
    assert "[counted](docs/METHOD.md#counts)" in table and "\n## Counts\n" in (SOURCE / "docs/METHOD.md").read_text(), "the link leads somewhere"
    case = next(some["case"] for some in rows if "n=1000000000" in some["case"])
    for some in rows:
        if some["case"] == case:
            assert f"| {some['spec'].split('/')[1]} | - | 1 | 1.25 | 50% | 40 | 43.8% | 5.00 GiB |" in table, some["spec"]
    assert "| cuda_block_prefix_suffix threads=256 | n 1e8, f32, input normal | 1 | 1.25 | 50% | 40 | 43.8% | 5.00 GiB |" in table


try:
    failures = run_every(globals())
finally:
    shutil.rmtree(WORK)
sys.exit(1 if failures else 0)
