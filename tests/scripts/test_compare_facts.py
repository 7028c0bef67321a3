"""What the real program records of CPUs and threads, and what `compare` makes of rows that differ in them; files that it refuses; a Python that cannot start."""

import json
import os
import shutil
import subprocess

import pytest
from compare_case import CompareCase
from program import RUNGS, SOURCE, call, expect_error, rows_of, needs_release
from real_order import stamps

CASE = ("ewm n=3e5 span=30 dtype=f64 input=normal", "--variants", "cpu_*", "--quick", "--no-ceilings", "--out")
CPUS = sorted(os.sched_getaffinity(0))


class Facts(CompareCase):
    def measured(self, name, *before, **variables):
        path = self.folder / f"{name}.jsonl"
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("OMP_", "GOMP_"))}
        done = subprocess.run(
            [*before, RUNGS, "run", *CASE, path], capture_output=True, text=True, env={**environment, **variables}
        )
        assert done.returncode == 0, done.stderr
        return path

    def threads(self, path):
        return {row["variant"].split("/")[1]: row["threads"] for row in rows_of(path)}


@pytest.fixture
def case(folder):
    return Facts(folder)


@needs_release
def test_cpus_and_threads(case):
    free = case.measured("free")
    (environment,) = rows_of(free, "environment")
    listed = [
        cpu
        for part in environment["cpu"]["cpus"].split(",")
        for first, _, last in [part.partition("-")]
        for cpu in range(int(first), int(last or first) + 1)
    ]
    assert listed == CPUS
    assert case.threads(free) == {"cpu_sequential": 1, "cpu_best": len(CPUS)}
    one = case.measured("one", OMP_NUM_THREADS="1")
    assert case.threads(one) == {"cpu_sequential": 1, "cpu_best": 1}
    told, output = case.compare(free, one, code=3), case.output
    assert {c["verdict"] for c in told["comparisons"]} == {"not comparable"}
    assert "thread variables none and OMP_NUM_THREADS=1" in output
    ids = {environment["id"], rows_of(one, "environment")[0]["id"]}
    if len(CPUS) > 1 and shutil.which("taskset"):
        pinned = case.measured("pinned", "taskset", "-c", str(CPUS[0]))
        told, output = case.compare(pinned, free, code=3), case.output
        assert {c["verdict"] for c in told["comparisons"]} == {"not comparable"}
        assert f"CPUs {CPUS[0]} and {environment['cpu']['cpus']}" in output
        ids.add(rows_of(pinned, "environment")[0]["id"])
        assert len(ids) == 3


@needs_release
def test_threads_alone_and_an_older_program(case):
    """Of a program that is told to use fewer in a way that nobody records. What an older program did not record is said, and its rows are compared."""
    free = case.measured("free")
    other = case.folder / "other.jsonl"
    lines = [json.loads(line) for line in free.read_text().splitlines()]
    for line in lines:
        if line.get("threads") == len(CPUS):
            line["threads"] += 1
    other.write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = case.compare(free, other, code=1)
    assert {
        c["spec"].split("/")[1].split()[0]: c["reason"] for c in told["comparisons"] if c["verdict"] == "not comparable"
    } == {"cpu_best": f"threads used {len(CPUS)} and {len(CPUS) + 1}"} | (
        {"cpu_sequential": "threads used 1 and 2"} if len(CPUS) == 1 else {}
    )

    old = case.folder / "old.jsonl"
    lines = [json.loads(line) for line in free.read_text().splitlines()]
    for line in lines:
        line.pop("threads", None)
        for key in ("cpus", "cpu_quota"):
            line.get("cpu", {}).pop(key, None)
    old.write_text("".join(json.dumps(line) + "\n" for line in lines))
    told, output = case.compare(old, free, code=0), case.output
    assert "not comparable" not in {c["verdict"] for c in told["comparisons"]}
    assert "not recorded by an older program and assumed equal: CPUs of BASE" in output
    assert "threads used of BASE" in output


@needs_release
def test_first_line(case):
    """A first, then B is said before anything else, also in the page for a pull request."""
    first, second = case.measured("first"), case.measured("second")
    for path, date in ((first, "2026-01-01T10:00:00Z"), (second, "2026-01-01T10:05:00Z")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        lines[0]["date"] = date
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    case.compare(first, second, "--markdown", case.folder / "page.md", code=None)
    expected = "not measured in turns, but BASE first (2026-01-01T10:00:00Z to 2026-01-01T10:00:00Z), then NEW (2026-01-01T10:05:00Z"
    assert case.output.startswith(expected), case.output
    assert (case.folder / "page.md").read_text().startswith(expected)
    case.compare(second, first, code=None)
    assert case.output.startswith("not measured in turns, but NEW first")
    assert call("compare", first, first).stdout.startswith("not measured in turns: ")


ROWS = SOURCE / "tests/golden/rows.jsonl"


def test_another_gpu_of_the_same_model(case):
    """Of the GPU in the environment, or of the row's own where a host has several; of CPU rows, nothing."""
    lines = [json.loads(line) for line in ROWS.read_text().splitlines()]
    own = lines[0]["gpu"]["uuid"]
    said = "on another GPU of the same model in 40 of 43 comparisons"
    for of_host, of_rows, expected in (
        (own, None, False),
        ("GPU-1", None, True),
        (own, "GPU-1", True),
        ("GPU-1", own, False),
    ):
        lines[0]["gpu"]["uuid"] = of_host
        for line in lines:
            if line["kind"] == "row" and not line["variant"].startswith("rolling/cpu"):
                line["gpu"] = {"index": 0, "uuid": of_rows} if of_rows else None
        other = case.folder / "other.jsonl"
        other.write_text("".join(json.dumps(line) + "\n" for line in lines))
        case.compare(ROWS, other, code=None)
        assert (said in case.output.splitlines()[0]) == expected, case.output


def test_times_that_are_none(case):
    """By file and line, in every verb that reads rows."""
    lines = ROWS.read_text().splitlines()
    at = next(k for k, line in enumerate(lines) if '"kind": "row"' in line and json.loads(line)["timing"])
    for value in (0, -0.5, float("nan")):
        row = json.loads(lines[at])
        next(iter(filter(None, row["timing"].values())))["median"] = value
        path = case.folder / "rows.jsonl"
        path.write_text("\n".join([*lines[:at], json.dumps(row), *lines[at + 1 :]]) + "\n")
        verbs = ("compare", path, path), ("export", "csv", path), ("report", path, "--out", case.folder / "page.md")
        for verb in verbs if value == 0 else verbs[:1]:
            done = call(*verb)
            expect_error(done, 2, f"rows.jsonl:{at + 1}:")
            assert "Traceback" not in done.stdout + done.stderr


def test_both_sides_in_one_file(case):
    """BASE and NEW of one `rungs ab` are no repetitions of one another, whichever file they are joined with."""
    base, new = case.pair()
    for side, path in (("base", base), ("new", new)):
        left = iter(stamps(10, 7)[side])
        case.rewrite(
            path,
            lambda lines: [{**line, "ab": next(left)} if line["kind"] == "environment" else line for line in lines],
        )
    both = case.folder / "both.jsonl"
    both.write_text(base.read_text() + new.read_text())
    for files in ((both, new), (base, both), (both, both)):
        expect_error(call("compare", *files), 2, "both.jsonl: rows of both sides of one rungs ab")


def test_python_that_cannot_start(case):
    broken = {**os.environ, "PYTHONHOME": "/nonexistent"}
    for verb in (
        ("compare", ROWS, ROWS),
        ("export", "csv", ROWS),
        ("report", ROWS, "--out", case.folder / "page.md"),
        ("report", "--history", ROWS.parent, "--out", case.folder / "history.md"),
        ("plot", "cache", ROWS),
        ("new", case.folder / "project"),
    ):
        done = call(*verb, env=broken)
        assert done.returncode == 4, f"{verb[0]}: {done.stdout}{done.stderr}"
    done = call("compare", ROWS, ROWS, env={**os.environ, "RUNGS_PYTHON": "/bin/false"})
    assert (done.returncode, "/bin/false ended with exit code 1 and printed nothing" in done.stderr) == (4, True), (
        done.stderr
    )
