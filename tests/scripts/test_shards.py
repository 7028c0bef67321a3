"""`rungs run --shard` and `rungs merge`: shards have the rows of the whole run, each once; what contradicts is refused with both places; what is
missing is listed. Rows of other machines and builds are made here by changing what a run wrote."""

import copy
import json

import pytest

from program import call, expect, expect_error, needs_release, rows_of

PLAN = ("smoke/double", "smoke/rolling", "published/double")
CPU = ("--variants", "cpu_*")
EXPECT = [word for name in PLAN for word in ("--expect", name)]


def identity(row):
    return row["case"], row["spec"], row["backend"], row["verdict"]


def write(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def changed(lines, **values):
    """The lines of another run, whose environment has these values: "gpu.uuid" is within "gpu"."""
    lines = copy.deepcopy(lines)
    for line in lines:
        line["run"] += "-changed"
    for key, value in values.items():
        *outer, name = key.split("__")
        target = lines[0]
        for part in outer:
            target = target[part]
        target[name] = value
    return lines


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def files(shared_folder):
    """Three shards, one of them cut short by its budget and resumed."""
    folder, options = shared_folder, ("--verify-only", *CPU)
    files = [folder / f"shard-{i}.jsonl" for i in (1, 2, 3)]
    for i, out in enumerate(files, 1):
        shard = ("run", *PLAN, *options, "--shard", f"{i}/3", "--out", out)
        if i == 2:
            done = call(*shard, "--budget", "0.0001s")
            expect(
                done.returncode in (0, 3) and "--resume" in done.stdout + done.stderr, "a shard may be cut short", done
            )
            shard += ("--resume",)
        done = call(*shard)
        expect(done.returncode == 0, f"shard {i}", done)
    return files


@pytest.fixture(scope="module")
def whole(shared_folder):
    """One run of everything."""
    done = call("run", *PLAN, "--verify-only", *CPU, "--out", shared_folder / "whole.jsonl")
    expect(done.returncode == 0, "the whole run", done)
    return shared_folder / "whole.jsonl"


def test_shards_have_the_rows_of_the_whole_run(folder, files, whole):
    merged = folder / "merged.jsonl"
    done = call("merge", *files, "--out", merged, *EXPECT, *CPU)
    expect(done.returncode == 0 and "missing" not in done.stdout, "the shards are joined, and nothing is missing", done)
    rows = [identity(row) for row in rows_of(merged)]
    expect(
        len(rows) > 10 and sorted(rows) == sorted(map(identity, rows_of(whole))),
        f"the {len(rows)} rows of the whole run, each once",
        done,
    )
    expect(min(len(rows_of(path)) for path in files) > 0, "every shard has rows")
    claims = [claim["id"] for claim in rows_of(merged, "claim")]
    expect(
        set(claims) == {claim["id"] for claim in rows_of(whole, "claim")},
        f"claims are judged in one shard each: {claims}",
    )


def test_a_shard_that_is_missing_is_told_row_by_row(folder, files):
    merged = folder / "merged.jsonl"
    done = call("merge", *files[:2], "--out", merged, *EXPECT, *CPU)
    lost = [(row["spec"], row["case"]) for row in rows_of(files[2])]
    expect(
        done.returncode == 1
        and all(f"missing: {spec} on {case}\n" in done.stdout for spec, case in lost)
        and f"{len(lost)} rows are missing" in done.stdout,
        "a shard that is missing is told row by row",
        done,
    )
    expect(
        len(rows_of(merged)) == sum(len(rows_of(path)) for path in files[:2]), "what is there is joined all the same"
    )


def test_a_case_that_no_file_has_is_told(files):
    done = call("merge", files[2], "--expect", "double n=5", *CPU)
    expect(
        done.returncode == 1 and "missing: double/cpu_loop on double n=5" in done.stdout,
        "a case that no file has",
        done,
    )
    expect_error(call("merge", files[2], "--expect", "smoke/duble"), 2, "smoke/duble", "smoke/double")
    expect_error(call("merge", files[2], *CPU), 2, "--variants needs --expect")


def test_inputs_stay(folder, files):
    before = files[0].read_bytes()
    link = folder / "link.jsonl"
    link.symlink_to(files[0])
    for out in (files[0], link):
        expect_error(call("merge", *files, "--out", out), 2, "would replace the input")
    expect(files[0].read_bytes() == before, "an input stays as it was")
    expect_error(call("merge"), 2, "expected files of rows")
    expect_error(call("merge", files[0], "--out", files[0].parent / "nowhere/m.jsonl"), 2, "nowhere/m.jsonl")


@pytest.mark.parametrize(
    "key, value",
    [("commit", "f" * 40), ("dirty", None), ("rungs", "9.9"), ("project", "p"), ("build__compiler", "tcc")],
)
def test_rows_of_another_build_are_refused(folder, files, key, value):
    lines, out = lines_of(files[1]), folder / "no.jsonl"
    value = not lines[0]["dirty"] if key == "dirty" else value
    done = call("merge", files[0], write(folder / "other.jsonl", changed(lines, **{key: value})), "--out", out)
    told = f"other.jsonl:1: {key.replace('__', '.')} is {json.dumps(value)[:5]}"
    expect_error(done, 2, told, "in ", "shard-1.jsonl:1 it is", what=f"another {key} is refused")
    assert not out.exists(), "and nothing is written"


def test_contradictions_are_refused_with_both_places(folder, files):
    """Untimed rows: of one build, from any machine."""
    first, other, lines = files[0], folder / "other.jsonl", lines_of(files[1])
    expect_error(call("merge", first, first), 2, "shard-1.jsonl:1: the run ", "is in ", "the same rows twice")
    row = next(i for i, line in enumerate(lines) if line["kind"] == "row")
    done = call("merge", first, write(other, changed(lines, cpu__model="Other CPU", id="0" * 16)))
    expect(done.returncode == 0, "verified rows may be of any machine", done)
    double = changed(lines_of(first))
    at = next(i for i, line in enumerate(double) if line["kind"] == "row")
    expect_error(
        call("merge", first, write(other, double)),
        2,
        f"other.jsonl:{at + 1}: {double[at]['spec']} on {double[at]['case']} is in ",
        "no row in common",
    )
    double[at]["verdict"] = "fail"
    expect_error(
        call("merge", first, write(other, double)),
        2,
        f"other.jsonl:{at + 1}: {double[at]['spec']}",
        ": fail; in ",
        f"shard-1.jsonl:{at + 1}: pass",
    )
    expect_error(call("merge", first, write(other, lines[row:])), 2, "other.jsonl:1: a row of the run", "environment")


def test_files_that_are_broken_are_refused(folder, files):
    first, other = files[0], folder / "other.jsonl"
    other.write_text("\n" + files[1].read_text().replace('"schema":1', '"schema":7', 1))
    expect_error(call("merge", first, other), 2, "other.jsonl:2:", "schema is 7; expected")
    other.write_text(files[1].read_text()[:-40])
    expect_error(call("merge", first, other), 2, "other.jsonl:", "cut off")
    expect_error(call("merge", first, folder / "none.jsonl"), 2, "none.jsonl")
    expect(
        call("merge", write(other, lines_of(files[1])[:1])).returncode == 3, "a file without rows: nothing was merged"
    )


def test_emulated_rows_may_be_in_several_files(folder, files):
    """Two sizes that shrink to one emulated case may lie in two shards."""
    lines = [line for line in lines_of(files[0]) if line["kind"] in ("environment", "row")]
    for line in lines[1:]:
        line["backend"] = "emulator"
    twice = [write(folder / "emulated-1.jsonl", lines), write(folder / "emulated-2.jsonl", changed(lines))]
    done = call("merge", *twice, "--out", folder / "emulated.jsonl")
    expect(
        done.returncode == 0 and f"{len(lines) - 1} emulated rows were in several files" in done.stdout,
        "emulated rows are kept once",
        done,
    )
    expect(len(rows_of(folder / "emulated.jsonl")) == len(lines) - 1, "each of them")
    twice_told = changed(lines)
    twice_told[-1]["verdict"] = "fail"
    expect_error(call("merge", twice[0], write(folder / "emulated-2.jsonl", twice_told)), 2, ": fail; in ", ": pass")


def test_a_claim_that_two_files_judged_is_left_out(folder, whole):
    """Each saw a part of its rows."""
    lines = lines_of(whole)
    parts = [
        [line for line in lines if line["kind"] != "row" or (line["op"] == "double") == first]
        for first in (True, False)
    ]
    files = [write(folder / "part-1.jsonl", parts[0]), write(folder / "part-2.jsonl", changed(parts[1]))]
    done = call("merge", *files, "--out", folder / "parts.jsonl")
    expect(
        done.returncode == 0
        and "judged in several files" in done.stdout
        and not rows_of(folder / "parts.jsonl", "claim"),
        "claims of parts are left out",
        done,
    )


@needs_release
def test_times_are_of_one_kind_of_machine(folder):
    """What was timed: one machine, or several of a kind if the user says so; one machine code."""
    file = folder / "timed.jsonl"
    done = call("run", "double n=1000", "--quick", "--no-ceilings", *CPU, "--out", file)
    expect(done.returncode == 0, "a timed row", done)
    lines = lines_of(file)
    lines[0]["gpu"] = {"name": "NVIDIA H200", "uuid": "one", "driver": "580.1", "power_cap_watts": 700}
    lines = changed(lines)
    write(file, lines)
    other = folder / "times.jsonl"

    def another(**values):
        rows = changed(lines, **values)
        for row in rows[1:]:
            row["case"] = "double n=7 dtype=f64 input=uniform seed=1"
        return write(other, rows)

    expect(call("merge", file, another()).returncode == 0, "times of one machine")
    expect_error(
        call("merge", file, another(gpu__uuid="two")),
        2,
        "times.jsonl:2: timed on another NVIDIA H200",
        "timed.jsonl:",
        "--several-machines",
    )
    done = call("merge", file, another(gpu__uuid="two"), "--several-machines")
    expect(done.returncode == 0, "of several GPUs of one model, if one says so", done)
    for options in ([], ["--several-machines"]):
        expect_error(
            call("merge", file, another(id="0" * 16, gpu__name="NVIDIA A100"), *options),
            2,
            "times.jsonl:2: timed on ",
            "NVIDIA A100",
            "NVIDIA H200",
        )
    rows = lines_of(another())
    rows[1]["code"] = {"sass_hash": None, "host_hash": "0" * 16, "reason": None}
    expect_error(
        call("merge", file, write(other, rows)),
        2,
        "times.jsonl:2: double/cpu_loop has other machine code than in ",
        "timed.jsonl:2",
    )
