"""Time against rows x elements of a row: table and figure; rows that only verified take no place there, a variant keeps one tuning to a line."""
import copy
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import golden_rows
from every_test import run_every
from golden_rows import GOLDEN, SOURCE

import figures_shapes
import figures_sizes
import report_ladder
import rows as r

WORK = pathlib.Path(tempfile.mkdtemp(prefix="rungs_test_shapes_"))
PATTERN = next(line for line in GOLDEN if line["kind"] == "row" and line["backend"] == "cuda" and line["verdict"] == "pass" and line.get("timing"))
SINGLE = [(1, 10**k) for k in range(3, 8)]
MANY = [(64, 1000), (4096, 1024), (65536, 128), (100000, 64)]


def row(variant, shape, seconds, seed=1, tunables=""):
    line = copy.deepcopy(PATTERN)
    batch, n = shape
    line |= {"op": "discounted_cumsum", "variant": f"discounted_cumsum/{variant}", "spec": f"discounted_cumsum/{variant}{tunables}", "baseline": None, "seed": seed,
             "params": {"batch": batch, "n": n, "gamma": 0.99}, "case": f"discounted_cumsum batch={batch} n={n} gamma=0.99 dtype=f32 input=normal seed={seed}", "dtype": "f32", "input": "normal"}
    if seconds is None:
        line |= {"timing": None, "why_not_timed": "verify only"}
    else:
        cold = {**PATTERN["timing"]["cold"], **dict.fromkeys(("median", "min", "max", "q1", "q3", "low", "high"), seconds), "samples": [seconds]}
        line["timing"] = {"cold": cold}
    return line


def times(variant, shapes, of, **how):
    return [row(variant, shape, of * shape[0] * shape[1], **how) for shape in shapes]


def written(rows):
    return golden_rows.written(WORK, [line for line in GOLDEN if line["kind"] in ("environment", "ceilings")] + rows)


def tables_of(rows):
    """Heading of a sweep -> [column names, {variant: cells}]."""
    out = WORK / "REPORT.md"
    done = subprocess.run([sys.executable, str(SOURCE / "plots/report.py"), str(written(rows)), "--out", str(out), "--figures", str(WORK / "drawn")], capture_output=True, text=True)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    found = {}
    for name, table in re.findall(r"#### Time against ([^\n]+)\n.*?\n(\|.*?)\n\n", out.read_text(), re.S):
        head, _, *lines = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in table.splitlines()]
        found[name] = head[1:], {line[0]: line[1:] for line in lines}
    return found


ROWS = times("cuda_a", SINGLE + MANY, 1e-12) + times("cuda_b", SINGLE + MANY, 3e-12)


def test_two_tables():
    found = tables_of(ROWS)
    columns, lines = found["n"]
    assert columns == ["n = 1000", "n = 10000", "n = 100000", "n = 1e6", "n = 1e7"], columns
    columns, lines = found["batch x n"]
    assert columns == ["64 x 1000", "4096 x 1024", "65536 x 128", "100000 x 64"], columns
    assert list(lines) == ["cuda_a", "cuda_b"], "the fastest first"
    assert lines["cuda_b"][1].startswith("12.6 us"), lines


def test_what_was_only_verified_takes_no_place():
    found = tables_of(ROWS + [row("cuda_a", SINGLE[1], None, seed=2), row("cuda_b", (1, 2049), None), row("cuda_a", (300, 7), None)])
    columns, lines = found["n"]
    assert "n = 2049" not in columns, columns
    assert lines["cuda_a"][1].startswith("10.0 ns"), "the time of seed 1 stays"
    assert "300 x 7" not in found["batch x n"][0]


def test_of_one_build_the_row_with_more_modes_stays():
    more = row("cuda_a", SINGLE[0], 1e-9)
    more["timing"]["hot"] = more["timing"]["cold"]
    fewer, wrong, other = row("cuda_a", SINGLE[0], 2e-9), {**row("cuda_a", SINGLE[0], 2e-9), "verdict": "fail"}, {**row("cuda_a", SINGLE[0], 3e-9), "run": "later"}
    latest = lambda *rows: r.load([written(list(rows))]).rows[0]
    assert set(latest(more, fewer)["timing"]) == {"cold", "hot"}, "fewer modes replace nothing"
    assert latest(fewer, more)["timing"]["cold"]["median"] == 1e-9, "more modes do"
    assert latest(more, {**more, "seed": 7})["seed"] == 7, "as many do"
    assert latest(more, wrong)["verdict"] == "fail", "what is found wrong is said"
    assert set(latest(more, other)["timing"]) == {"cold"}, "another build is another measurement"


def test_one_baseline_to_a_table():
    slow, other = row("cuda_a", SINGLE[0], 8e-9), row("cuda_a", SINGLE[0], 1e-9, tunables=" threads=1")
    default = [row("cuda_a", shape, 1e-9) for shape in SINGLE[1:]]  # what most rows have
    fast, cpu = {**row("cuda_b", SINGLE[0], 2e-9), "baseline": "discounted_cumsum/cuda_a"}, {**row("cpu_c", SINGLE[0], 4e-9), "baseline": "discounted_cumsum/cpu_c"}
    slow["baseline"] = other["baseline"] = "discounted_cumsum/cuda_a"
    results = r.load([written([slow, other, fast, cpu, *default])])
    assert r.baseline_spec(results, fast) == "discounted_cumsum/cuda_a", "not another tuning of it"
    text = report_ladder.case_table(results, [line for line in results.rows if line["case"] == slow["case"]])
    head, _, *lines = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in text.splitlines() if line]
    found = {line[0]: line[head.index("over cuda_a")].split(" ")[0] for line in lines}
    assert found == {"cuda_a": "1", "cuda_a threads=1": "8.00x", "cuda_b": "4.00x", "cpu_c": "2.00x"}, found


def test_few_shapes_make_no_table():
    assert "batch x n" not in tables_of(times("cuda_a", SINGLE + MANY[:2], 1e-12))


def test_a_line_has_one_tuning():
    results = r.load([written(ROWS + times("cuda_a", SINGLE[-1:], 1e-13, tunables=" threads=512"))])
    lines = figures_sizes.lines_of(figures_sizes.pick(results, "discounted_cumsum", "f32", "n"), lambda line: line["params"]["n"])
    assert lines["cuda_a"][-1] == (1e7, 1e-12 * 1e7), "not the other tuning's, which has one point"


def test_the_figure():
    results = r.load([written(ROWS)])
    drawn = figures_shapes.draw(results, WORK / "figures")
    assert [path.name for path, _ in drawn] == ["shapes_discounted_cumsum_f32.png"], drawn
    group = figures_shapes.pick(results, "discounted_cumsum", "f32")
    shapes = sorted({(line["params"]["batch"], line["params"]["n"]) for line in group})
    assert shapes == SINGLE + MANY, "four shapes without those of one row are few"
    lines = figures_sizes.lines_of(group, lambda line: shapes.index((line["params"]["batch"], line["params"]["n"])))
    assert lines["cuda_b"][-1] == (len(shapes) - 1, 3e-12 * 6400000)


try:
    failures = run_every(globals())
finally:
    shutil.rmtree(WORK)
sys.exit(1 if failures else 0)
