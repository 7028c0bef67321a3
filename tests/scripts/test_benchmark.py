"""rungs benchmark: Google Benchmark's flags, reporters and compare.py work on verified samples; what fails or cannot run has no time, and says why."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
from program import MUTANTS, RELEASE, RUNGS, SANITIZED, call, rows_of

timed = pytest.mark.skipif(not RELEASE or SANITIZED, reason="only a Release build is timed")
GBENCH = (
    pathlib.Path(os.environ.get("RUNGS_GBENCH", "/usr/share/benchmark")) / "compare.py"
)  # Debian: libbenchmark-tools
CASE = "double n=1000 dtype=f64 input=uniform seed=1"
LOOP = (CASE, "--variants", "cpu_loop")
NAME = f"double/cpu_loop/{CASE}"


def benchmark(*words, program=RUNGS, **more):
    return call("benchmark", *words, program=program, **more)


def test_list():
    done = benchmark(*LOOP, "--benchmark_list_tests")
    assert done.stdout.split("\n") == [
        f"{NAME}/cold/iterations:9/manual_time",
        f"{NAME}/hot/iterations:9/manual_time",
        f"{NAME}/first/iterations:1/manual_time",
        "",
    ]
    assert done.returncode == 0


def test_a_name_is_a_filter_of_itself():
    done = benchmark(*LOOP, "--benchmark_list_tests", f"--benchmark_filter={NAME}/cold")
    assert done.stdout == f"{NAME}/cold/iterations:9/manual_time\n"


def test_usage():
    for words, code, told in (
        (("--benchmark_list_tests",), 2, "a scenario or a case is expected"),
        ((CASE, "--benchmark_bogus=3"), 2, "unrecognized command-line flag: --benchmark_bogus=3"),
        ((CASE, "--benchmark_min_time=soon"), 2, "soon"),
        ((CASE, "--benchmark_format=xml"), 2, "--benchmark_format=<console|json|csv>"),
        ((CASE, "--benchmark_out=/nowhere/out.json"), 2, "/nowhere/out.json"),
        ((CASE, "--variant", "x"), 2, "did you mean '--variants'?"),
        ((CASE, "--variants", "nobody"), 2, "nobody"),
        ((CASE, "--benchmark_filter=nothing_like_it"), 3, "Failed to match any benchmarks"),
    ):
        done = benchmark(*words)
        assert done.returncode == code, (words, done.stdout, done.stderr)
        assert told in done.stdout + done.stderr


def test_help():
    done = benchmark("--help")
    assert done.returncode == 0
    for word in ("--no-ceilings", "--benchmark_repetitions=", "--benchmark_out="):
        assert word in done.stdout


def run_json(folder, *words, code=0, program=RUNGS):
    out = folder / "out.json"
    done = benchmark(*words, f"--benchmark_out={out}", program=program)
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(out.read_text()), done


@timed
def test_reporters_and_counters(folder):
    """The console shows what the file holds; bytes per second are those of the mean; the limit is measured."""
    told, done = run_json(folder, *LOOP, "--benchmark_filter=cold")
    [line] = told["benchmarks"]
    assert (line["name"], line["iterations"], line["time_unit"]) == (f"{NAME}/cold/iterations:9/manual_time", 9, "ns")
    assert line["real_time"] > 0
    assert line["bytes_per_second"] == pytest.approx(
        16000 / (line["real_time"] * 1e-9), abs=1e-6 * line["bytes_per_second"]
    )
    assert "error_over_bound" not in line, "doubling is exact"
    assert line["limit_share"] > 0
    assert line["name"] in done.stdout
    assert told["context"]["executable"] == "rungs benchmark"
    assert re.search("^[0-9a-f]{40}$", told["context"].get("commit", "0" * 40))
    told = json.loads(benchmark(*LOOP, "--benchmark_filter=hot", "--benchmark_format=json", "--no-ceilings").stdout)
    assert "limit_share" not in told["benchmarks"][0]


@timed
@pytest.mark.skipif(not "rolling/cpu_best" in call("list", "variants").stdout, reason="there is no rolling")
def test_error_over_bound(folder):
    """What the row of a run has; and aggregates of it are JSON that every reader takes."""
    case, rows = "rolling n=1000 window=30 input=normal", folder / "rows.jsonl"
    call("run", case, "--variants", "cpu_best", "--verify-only", "--no-ceilings", "--out", rows)
    [row] = rows_of(rows)

    def refuse(name):
        raise ValueError(f"{name} is no JSON")

    done = benchmark(
        case,
        "--variants",
        "cpu_best",
        "--no-ceilings",
        "--benchmark_filter=hot",
        "--benchmark_repetitions=2",
        "--benchmark_format=json",
    )
    runs = [
        line for line in json.loads(done.stdout, parse_constant=refuse)["benchmarks"] if line["run_type"] == "iteration"
    ]
    assert [line["error_over_bound"] for line in runs] == 2 * [row["errors"]["y"]["max_ratio"]]


@timed
def test_minimum_time(folder):
    """Google Benchmark's own search: iterations, which are calls, add up to that time."""
    told, _ = run_json(folder, *LOOP, "--benchmark_filter=hot", "--benchmark_min_time=0.002", "--no-ceilings")
    [line] = told["benchmarks"]
    assert line["name"] == f"{NAME}/hot/manual_time"
    assert line["iterations"] * line["real_time"] * 1e-09 >= 0.002
    assert line["iterations"] > 9


@timed
def test_a_repetition_is_a_worker(folder):
    """There is one first call in a worker, and each repetition has one."""
    told, _ = run_json(folder, *LOOP, "--benchmark_filter=first", "--benchmark_repetitions=3", "--no-ceilings")
    runs = [line for line in told["benchmarks"] if line["run_type"] == "iteration"]
    assert [(line["repetition_index"], line["iterations"]) for line in runs] == [(0, 1), (1, 1), (2, 1)]
    assert all(line["real_time"] > 0 for line in runs)


@timed
@pytest.mark.skipif(not GBENCH.exists(), reason="libbenchmark-tools is not installed")
def test_compare(folder):
    """compare.py pairs the names and tests repetitions; a file with times 1.5 times as long is found slower."""
    told, _ = run_json(folder, *LOOP, "--benchmark_filter=hot", "--benchmark_repetitions=9", "--no-ceilings")
    base, new, difference = (folder / name for name in ("base.json", "new.json", "difference.json"))
    base.write_text(json.dumps(told))
    runs = [line for line in told["benchmarks"] if line["run_type"] == "iteration"]
    longest = max(line["real_time"] for line in runs) / min(line["real_time"] for line in runs)
    for line in told["benchmarks"]:
        line["real_time"] *= 1.5 * longest
    new.write_text(json.dumps(told))
    done = subprocess.run(
        [sys.executable, GBENCH, "--no-color", "-d", difference, "benchmarks", base, new],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 0, done.stderr
    [entry] = [
        entry for entry in json.loads(difference.read_text()) if entry["name"].endswith("/hot/iterations:9/manual_time")
    ]
    assert entry["utest"]["nr_of_repetitions"] == 9
    assert entry["utest"]["time_pvalue"] < 0.001
    assert all(abs(m["time"] - (1.5 * longest - 1)) < 1e-09 for m in entry["measurements"])


@timed
@pytest.mark.skipif(not MUTANTS.exists(), reason="the mutants were not built")
def test_wrong_variants(folder):
    """Each fault is an error of its own benchmark; the right variant keeps its time; the exit code is 1."""
    told, done = run_json(
        folder,
        CASE,
        "--variants",
        "cpu_zeros,cpu_wrong_later,cpu_crashes,cpu_right",
        "--benchmark_filter=hot",
        "--no-ceilings",
        code=1,
        program=MUTANTS,
    )
    lines = {re.match("double/([a-z_]*)", line["name"])[1]: line for line in told["benchmarks"]}
    assert len(lines) == 4
    assert "error_occurred" not in lines["cpu_right"], lines["cpu_right"]["error_message"]
    assert lines["cpu_right"]["real_time"] > 0
    for name, words in (
        ("cpu_zeros", "verification failed: "),
        ("cpu_wrong_later", "verification failed: "),
        ("cpu_crashes", "error: crashed"),
    ):
        assert lines[name]["error_occurred"] and lines[name]["error_message"].startswith(words), lines[name]
        assert lines[name]["real_time"] == 0
    assert "verification failed: " in done.stdout


@timed
def test_what_cannot_run(folder):
    """No time, the reason, and no failure; alone it is nothing measured."""
    told, _ = run_json(
        folder, "rolling n=100 window=7", "--variants", "cpu_best,cpu_apply", "--benchmark_filter=hot", "--no-ceilings"
    )
    [skipped] = [line for line in told["benchmarks"] if "cpu_apply" in line["name"]]
    assert skipped.get("error_occurred") or skipped.get("skipped"), skipped
    assert (skipped.get("error_message") or skipped["skip_message"]).startswith("cannot run: "), skipped
    run_json(folder, "rolling n=100 window=7", "--variants", "cpu_apply", "--no-ceilings", code=3)
