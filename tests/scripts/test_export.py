"""Every format of `rungs export` is read back by what reads it: Google Benchmark's own compare.py, pandas, the JUnit schema of Jenkins, the action's declared type; and the numbers that come back are those of the rows."""

import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys

import pytest
from compare_rows import Machine
from program import SOURCE, call, rows_of

pandas = pytest.importorskip("pandas")
xmlschema = pytest.importorskip("xmlschema")
Draft7Validator = pytest.importorskip("jsonschema").Draft7Validator

GOLDEN = SOURCE / "tests/golden/rows.jsonl"
GBENCH = (
    pathlib.Path(os.environ.get("RUNGS_GBENCH", "/usr/share/benchmark")) / "compare.py"
)  # Debian: libbenchmark-tools
MODES = ("cold", "hot", "graph", "enqueue", "complete", "first")
# BenchmarkResult of github-action-benchmark (src/extract.ts), which customSmallerIsBetter is an array of.
GITHUB = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["name", "value", "unit"],
        "additionalProperties": False,
        "properties": {
            "name": {"type": "string"},
            "value": {"type": "number"},
            "unit": {"type": "string"},
            "range": {"type": "string"},
            "extra": {"type": "string"},
        },
    },
}


def medians(path):
    """(spec, case, mode) -> median, of the latest row of each that passed: what every format must tell."""
    return {
        (row["spec"], row["case"], mode): row["timing"][mode]["median"]
        for row in rows_of(path)
        if row["verdict"] == "pass" and row["timing"]
        for mode in MODES
        if (row["timing"].get(mode) or {}).get("median")
    }


def key_of(name):
    return tuple(name.split(" | "))


def exported(folder, form, *files, code=0):
    out = folder / f"out.{form}"
    out.unlink(missing_ok=True)
    done = call("export", form, *files, "--out", out)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert [p.name for p in folder.glob(".*")] == []
    return out if code == 0 else done.stderr


def is_valid(schema, value):
    assert [e.message for e in Draft7Validator(schema).iter_errors(value)] == []


def same_times(told, expected):
    assert told.keys() == expected.keys()
    assert len(told) > 20
    for key, value in told.items():
        assert abs(value - expected[key]) < 1e-09 * expected[key], key


def by_gbench(folder, base, new):
    told = folder / "difference.json"
    done = subprocess.run(
        [sys.executable, GBENCH, "--no-color", "-d", told, "benchmarks", base, new],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(told.read_text())


@pytest.mark.skipif(not GBENCH.exists(), reason="libbenchmark-tools is not installed")
def test_google_benchmark(folder):
    """compare.py finds every row by its name, the change that was put in, and takes processes for repetitions."""

    def slower(row, number):
        if row["params"]["window"] == 30:
            times = row["timing"]["cold"]
            times["samples"] = [1.25 * x for x in times["samples"]]
        return row

    rows = [{"window": window} for window in (10, 20, 30)]
    base = Machine(1).file(folder / "base.jsonl", 10, rows)
    new = Machine(2).file(folder / "new.jsonl", 10, rows, slower)
    outs = []
    for path in (base, new):
        outs.append(exported(folder, "google-benchmark", path).rename(folder / f"{path.stem}.json"))
    found = {
        key_of(entry["name"])[1].split()[3]: entry
        for entry in by_gbench(folder, *outs)
        if entry["name"] != "OVERALL_GEOMEAN"
    }
    assert sorted(found) == ["window=10", "window=20", "window=30"]
    for window, entry in found.items():
        assert entry["utest"]["nr_of_repetitions"] == 10
        assert entry["utest"]["have_optimal_repetitions"]
        change = statistics.median(m["time"] for m in entry["measurements"])
        assert change == pytest.approx(0.25 if window == "window=30" else 0, abs=0.02)
        assert (entry["utest"]["time_pvalue"] < 0.001) == (window == "window=30")


@pytest.mark.skipif(not GBENCH.exists(), reason="libbenchmark-tools is not installed")
def test_google_benchmark_of_one_run(folder):
    """One process: repetitions are its samples. No aggregates, no host, nothing of 0 seconds, nothing that failed."""
    out = exported(folder, "google-benchmark", GOLDEN)
    told = json.loads(out.read_text())
    assert "host_name" not in told["context"]
    expected, seen = medians(GOLDEN), {}
    for line in told["benchmarks"]:
        assert (line["run_type"], line["time_unit"], line["cpu_time"]) == ("iteration", "ns", line["real_time"])
        assert line["real_time"] > 0
        seen.setdefault(key_of(line["name"]), []).append(line["real_time"] / 1e9)
    same_times({key: statistics.median(values) for key, values in seen.items()}, expected)
    told = by_gbench(folder, out, out)
    assert len(told) == len(expected) + 1
    assert all(abs(m["time"]) < 1e-12 for entry in told for m in entry["measurements"])


def test_csv(folder):
    """pandas: the same rows, the same numbers to the last bit, and what has no times has none."""
    frame = pandas.read_csv(exported(folder, "csv", GOLDEN), float_precision="round_trip")
    rows = rows_of(GOLDEN)
    assert len(frame[["case", "spec", "backend"]].drop_duplicates()) == len(
        {(r["case"], r["spec"], r["backend"]) for r in rows}
    )
    timed = frame[frame["mode"].notna()]
    assert {(r.spec, r.case, r.mode): r.median for r in timed.itertuples()} == medians(GOLDEN)
    assert (timed["verdict"] == "pass").all()
    without = frame[frame["mode"].isna()]
    assert without["median"].isna().all()
    assert sorted(without["verdict"]) == sorted(r["verdict"] for r in rows if r["verdict"] != "pass" or not r["timing"])
    assert set(frame.loc[frame["verdict"] != "pass", "reason"]) == {r["reason"] for r in rows if r["verdict"] != "pass"}
    assert timed["param.n"].dtype.kind == "i"
    limits = {
        (r["spec"], r["case"], mode): t["limit"]
        for r in rows
        for mode, t in (r["timing"] or {}).items()
        if t.get("limit")
    }
    held = timed[timed["limit_seconds"].notna()]
    assert {(r.spec, r.case, r.mode): (r.limit_seconds, r.limit_share, r.limit_kernel) for r in held.itertuples()} == {
        key: (limit["seconds"], limit["share"], limit["kernel"]) for key, limit in limits.items()
    }
    assert (held["elements"] == held["elements_per_second"] * held["median"]).all()
    several = Machine(1).file(folder / "runs.jsonl", 3, [{"window": 10}, {"window": 20}])
    assert len(pandas.read_csv(exported(folder, "csv", several))) == 6, "every process has its line"


def test_csv_of_awkward_text(folder):
    def awkward(row, number):
        row.update(verdict="error", timing=None, reason='said "no",\nthen\r\nnothing; a,b')
        return row

    path = Machine(1).file(folder / "awkward.jsonl", 1, [{}], awkward)
    assert (
        pandas.read_csv(exported(folder, "csv", path), lineterminator="\n")["reason"][0].split()
        == 'said "no", then nothing; a,b'.split()
    )


def test_junit(folder):
    schema = xmlschema.XMLSchema(SOURCE / "tests/schemas/junit-10.xsd")
    assert not schema.is_valid("<testsuites><testsuite name='no counts'/></testsuites>"), "the check can fail"
    out = exported(folder, "junit", GOLDEN)
    schema.validate(out)
    root = xmlschema.XMLResource(out).root
    rows = rows_of(GOLDEN)
    counts = {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in ("pass", "fail", "error", "skip")}
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == tuple(
        map(str, (len(rows), counts["fail"], counts["error"]))
    )
    assert len(root.findall("testsuite/testcase/failure")) == counts["fail"]
    assert len(root.findall("testsuite/testcase/error")) == counts["error"]
    assert len(root.findall("testsuite/testcase/skipped")) == counts["skip"]
    for row in rows:
        if row["verdict"] == "fail":
            told = [
                case.find("failure")
                for case in root.iter("testcase")
                if case.get("name").startswith(f"{row['spec']} | {row['case']}")
            ]
            assert row["reason"] in [t.get("message") for t in told if t is not None]


def test_junit_of_what_a_crash_printed(folder):
    def crashed(row, number):
        row.update(verdict="error", timing=None, reason="\x1b[31m<&>\"' \ufffe")
        return row

    out = exported(folder, "junit", Machine(1).file(folder / "crash.jsonl", 1, [{}], crashed))
    xmlschema.XMLSchema(SOURCE / "tests/schemas/junit-10.xsd").validate(out)
    assert "\\x1b[31m<&>\"'" in xmlschema.XMLResource(out).root.find("testsuite/testcase/error").get("message")


def test_junit_of_compare(folder):
    """The other place that writes JUnit: the same writer, the same schema."""
    base = Machine(1).file(folder / "base.jsonl", 10, [{"window": 10}, {"window": 20}])
    out = folder / "compare.xml"
    done = call("compare", base, Machine(2).file(folder / "new.jsonl", 10, [{"window": 10}]), "--junit", out)
    assert done.returncode == 1, done.stderr
    xmlschema.XMLSchema(SOURCE / "tests/schemas/junit-10.xsd").validate(out)
    assert xmlschema.XMLResource(out).root.get("failures") == "1"


def test_github_action_benchmark(folder):
    told = json.loads(exported(folder, "github-action-benchmark", GOLDEN).read_text())
    is_valid(GITHUB, told)
    same_times({key_of(bench["name"]): bench["value"] / 1e9 for bench in told}, medians(GOLDEN))
    assert {bench["unit"] for bench in told} == {"ns"}
    assert all(math.isfinite(float(re.fullmatch(r"± (\S+)", bench["range"]).group(1))) for bench in told)


def test_trackers_take_processes(folder):
    """Ten processes, each off by up to 20%: the median of all and their range, not the last one; only those of the latest commit."""

    def moved(row, number):
        times = row["timing"]["cold"]
        factor = 5 if number == 10 else 1 + 0.02 * (number % 10)
        row["timing"]["cold"] = {
            **times,
            "samples": [factor * x for x in times["samples"]],
            **{key: factor * times[key] for key in ("median", "low", "high", "min", "q1", "q3", "max")},
        }
        return row

    path = Machine(1, process=0, sample=0).file(folder / "runs.jsonl", 11, [{"window": 10}], moved)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    slow = lines[20]["run"]
    for line in lines:
        if line["kind"] == "environment":
            line.update(
                date="2027-01-02T00:00:00Z" if line["run"] != slow else "2027-01-01T00:00:00Z",
                commit="a" * 40 if line["run"] != slow else "b" * 40,
            )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (bench,) = json.loads(exported(folder, "github-action-benchmark", path).read_text())
    assert bench["value"] == pytest.approx(1.09e6, abs=1)
    assert (bench["range"], bench["extra"].splitlines()[0]) == ("± 90000", "median of 10 processes")


def test_stdout_is_the_export_alone(folder):
    done = call("export", "csv", GOLDEN)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == exported(folder, "csv", GOLDEN).read_text()


def test_nothing_and_nonsense(folder):
    untimed = folder / "untimed.jsonl"
    untimed.write_text(
        "".join(
            json.dumps({**line, "timing": None, "why_not_timed": "verify only"} if line["kind"] == "row" else line)
            + "\n"
            for line in map(json.loads, GOLDEN.read_text().splitlines())
        )
    )
    for form in ("google-benchmark", "github-action-benchmark"):
        assert "no row was timed" in exported(folder, form, untimed, code=3)
    for form in ("csv", "junit"):
        exported(folder, form, untimed)
    other = Machine(1).file(folder / "other.jsonl", 1, [{}], name="NVIDIA Other")
    assert "several machines" in exported(folder, "github-action-benchmark", GOLDEN, other, code=2)
    exported(folder, "csv", GOLDEN, other)
    empty = folder / "empty.jsonl"
    empty.write_text("")
    assert "no rows" in exported(folder, "csv", empty, code=3)
    bad = folder / "bad.jsonl"
    bad.write_text("{oops\n")
    assert f"{bad}:1:" in exported(folder, "csv", bad, code=2)
    told = exported(folder, "xlsx", GOLDEN, code=2)
    assert re.search(
        r"^rungs export: unknown format 'xlsx' \(known: google-benchmark, csv, .*\) \(see rungs export --help\)\n$",
        told,
    )
    assert "did you mean 'junit'?" in exported(folder, "junti", GOLDEN, code=2)
    done = call("export", "csv", GOLDEN, "--out", folder / "none/out.csv")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "none" in done.stderr
