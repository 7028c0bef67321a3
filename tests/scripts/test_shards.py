"""`rungs run --shard` and `rungs merge`: shards have the rows of the whole run, each once; what contradicts is refused with both places; what is
missing is listed. Rows of other machines and builds are made here by changing what a run wrote."""

import copy
import json
import pathlib
import tempfile

from program import RELEASE, call, expect, expect_error, rows_of

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


def shards_and_whole(folder):
    """Three shards, one of them cut short by its budget and resumed, beside one run of everything."""
    options = ("--verify-only", *CPU)
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
    whole = folder / "whole.jsonl"
    done = call("run", *PLAN, *options, "--out", whole)
    expect(done.returncode == 0, "the whole run", done)
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
    return files, merged, whole


def what_is_missing(files, merged):
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
    done = call("merge", files[2], "--expect", "double n=5", *CPU)
    expect(
        done.returncode == 1 and "missing: double/cpu_loop on double n=5" in done.stdout,
        "a case that no file has",
        done,
    )
    expect_error(call("merge", files[2], "--expect", "smoke/duble"), 2, "smoke/duble", "smoke/double")
    expect_error(call("merge", files[2], *CPU), 2, "--variants needs --expect")


def inputs_stay(files):
    before = files[0].read_bytes()
    link = files[0].with_name("link.jsonl")
    link.symlink_to(files[0])
    for out in (files[0], link):
        expect_error(call("merge", *files, "--out", out), 2, "would replace the input")
    expect(files[0].read_bytes() == before, "an input stays as it was")
    expect_error(call("merge"), 2, "expected files of rows")
    expect_error(call("merge", files[0], "--out", files[0].parent / "nowhere/m.jsonl"), 2, "nowhere/m.jsonl")


def contradictions(folder, files):
    """Untimed rows: of one build, from any machine."""
    first, other = files[0], folder / "other.jsonl"
    lines = [json.loads(line) for line in files[1].read_text().splitlines()]
    expect_error(call("merge", first, first), 2, "shard-1.jsonl:1: the run ", "is in ", "the same rows twice")
    row = next(i for i, line in enumerate(lines) if line["kind"] == "row")
    for what, values, told in (
        ("commit", {"commit": "f" * 40}, 'commit is "ffff'),
        ("dirty", {"dirty": not lines[0]["dirty"]}, f"dirty is {json.dumps(not lines[0]['dirty'])}"),
        ("version", {"rungs": "9.9"}, 'rungs is "9.9"'),
        ("project", {"project": "p"}, 'project is "p"'),
        ("compiler", {"build__compiler": "tcc"}, 'build.compiler is "tcc"'),
    ):
        out = folder / f"no-{what}.jsonl"
        done = call("merge", first, write(other, changed(lines, **values)), "--out", out)
        expect_error(
            done, 2, f"other.jsonl:1: {told}", "in ", "shard-1.jsonl:1 it is", what=f"another {what} is refused"
        )
        expect(not out.exists(), "and nothing is written")
    done = call("merge", first, write(other, changed(lines, cpu__model="Other CPU", id="0" * 16)))
    expect(done.returncode == 0, "verified rows may be of any machine", done)
    double = changed([json.loads(line) for line in first.read_text().splitlines()])
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
    other.write_text("\n" + files[1].read_text().replace('"schema":1', '"schema":7', 1))
    expect_error(call("merge", first, other), 2, "other.jsonl:2:", "schema is 7; expected schema 1")
    other.write_text(files[1].read_text()[:-40])
    expect_error(call("merge", first, other), 2, "other.jsonl:", "cut off")
    expect_error(call("merge", first, folder / "none.jsonl"), 2, "none.jsonl")
    expect(call("merge", write(other, lines[:1])).returncode == 3, "a file without rows: nothing was merged")


def emulated(folder, files):
    """Two sizes that shrink to one emulated case may lie in two shards."""
    lines = [json.loads(line) for line in files[0].read_text().splitlines()]
    lines = [line for line in lines if line["kind"] in ("environment", "row")]
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


def claims_of_parts(folder, whole):
    """A claim that two files judged is left out: each saw a part of its rows."""
    lines = [json.loads(line) for line in whole.read_text().splitlines()]
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


def times(folder):
    """What was timed: one machine, or several of a kind if the user says so; one machine code."""
    file = folder / "timed.jsonl"
    done = call("run", "double n=1000", "--quick", "--no-ceilings", *CPU, "--out", file)
    expect(done.returncode == 0, "a timed row", done)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
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
    rows = json.loads(json.dumps([json.loads(line) for line in another().read_text().splitlines()]))
    rows[1]["code"] = {"sass_hash": None, "host_hash": "0" * 16, "reason": None}
    expect_error(
        call("merge", file, write(other, rows)),
        2,
        "times.jsonl:2: double/cpu_loop has other machine code than in ",
        "timed.jsonl:2",
    )


def main():
    with tempfile.TemporaryDirectory(prefix="rungs_shards_") as name:
        folder = pathlib.Path(name)
        files, merged, whole = shards_and_whole(folder)
        what_is_missing(files, merged)
        inputs_stay(files)
        contradictions(folder, files)
        emulated(folder, files)
        claims_of_parts(folder, whole)
        if RELEASE:
            times(folder)


if __name__ == "__main__":
    main()
