"""Bad input costs a message, not time; what the machine lacks for the moment is no verdict for good; rows tell nothing of people."""

import json
import os
import resource
import shutil
import socket
import subprocess
import sys

import pytest

from program import BUILD, SOURCE, call, copy_mutants, expect, expect_error, needs_emulator, rows_of

from analysis import lines  # behind program, which has the checkout in the path

FUNCTION = SOURCE / "examples/apply/first_minus_last.cu"
HEAD = "title: x\nsuites:\n  - op: rolling\n    variants: [cpu_naive]\n    axes: "


@pytest.mark.parametrize(
    "text, words",
    [
        (HEAD + "{seed: [" + ",".join(map(str, range(200001))) + "]}\n", ("s.yaml:5:", "200001 values; at most 20000")),
        ("[" * 100000, ("s.yaml:1:101", "open brackets")),
        ("{a: " * 100000, ("s.yaml:1:", "open brackets")),
        ("".join(f"a{i}: &a{i} [x]\n" for i in range(100000)), ("anchors",)),
        (HEAD + "{" + ", ".join(f"a{i}: [1]" for i in range(50000)) + "}\n", ("s.yaml:5:", "50000 keys; at most 100")),
        (
            HEAD + "{seed: [" + ",".join(map(str, [*range(19999), 7])) + "]}\n",
            ("s.yaml:5:", "the same value as element 8"),
        ),
    ],
    ids=["values", "lists", "maps", "anchors", "keys", "twice"],
)
def test_sizes_are_looked_at_before_contents(folder, text, words):
    """What takes a minute today takes none of a test's time."""
    (folder / "s.yaml").write_text(text)
    begin = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = call("run", folder / "s.yaml", "--out", folder / "o.jsonl", timeout=100)
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begin
    expect_error(done, 2, *words)
    assert used < 10, "seconds of a processor"


@pytest.mark.parametrize("path", ["/dev/zero", "."])
def test_a_scenario_is_a_regular_file(folder, path):
    (folder / "zero.yaml").symlink_to(path)
    expect_error(call("run", folder / "zero.yaml", timeout=60), 2, "zero.yaml")


@pytest.mark.parametrize("words", [("judge", "--out", "--help"), ("run", "smoke", "--variants", "--quick")])
def test_an_option_is_no_value_of_another(words):
    expect_error(call(*words, timeout=60), 2, f"{words[-2]} needs a value")


def test_rows_without_an_end_are_refused():
    expect_error(call("judge", "/dev/zero", timeout=60), 2, "/dev/zero", "more than")


def test_rows_that_are_too_deep_are_refused(folder):
    (folder / "deep.jsonl").write_text('{"kind":"row","schema":1,"a":' + "[" * 100000 + "]" * 100000 + "}\n")
    for verb in (("export", "csv"), ("judge",), ("report", "--out", folder / "page.md")):
        done = call(*verb, folder / "deep.jsonl")
        expect_error(done, 2, "deep.jsonl:1")
        expect("Traceback" not in done.stderr, f"{verb[0]} has no traceback")


GOOD = next(row for row in rows_of(SOURCE / "tests/golden/rows.jsonl"))


@pytest.mark.parametrize(
    "key, value",
    [
        ("params", "x"),
        ("timing", []),
        ("timing", {"cold": 3}),
        ("timing", {"cold": {"median": "1"}}),
        ("timing", {"cold": {"samples": 5}}),
        ("errors", {"y": [1]}),
        ("errors", {"y": {"max_ratio": "x"}}),
        ("case", 3),
        ("spec", None),
        ("bound", "x"),
        ("run", {}),
    ],
)
def test_rows_that_are_malformed_are_told_by_file_and_line(folder, key, value):
    """Not as docs/RESULTS.md has them: no traceback."""
    path = folder / "rows.jsonl"
    path.write_text(json.dumps({**GOOD, key: value}) + "\n")
    with pytest.raises(lines.BadResults) as told:
        list(lines.read_lines(path, []))
    assert str(told.value).startswith(f"{path}:1:") and key in str(told.value)
    if key == "run":
        done = call("export", "csv", path)
        expect_error(done, 2, f"{path}:1:")
        expect("Traceback" not in done.stderr, "export ends with 2", done)


def test_a_function_that_cannot_be_one_is_told_before_anything_runs(folder):
    out = folder / "f.jsonl"
    (folder / "pipe").symlink_to("/dev/zero")
    (folder / "large.cu").write_bytes(b"//" * (1 << 20))
    for path, words in (
        (folder / "none.cu", "no such file"),
        ("/dev/zero", "not a regular file"),
        (folder / "pipe", "not a regular file"),
        (folder, "not a regular file"),
        (folder / "large.cu", "more than 1 MiB"),
    ):
        done = call(
            "run",
            f"rolling agg=apply function={path} n=100 window=3",
            "--variants",
            "cpu_apply",
            "--verify-only",
            "--out",
            out,
            timeout=60,
        )
        expect_error(done, 2, f"function={path}", words)
        expect(not out.exists(), "nothing ran")
    done = call(
        "exec",
        "rolling/cpu_apply",
        "--in",
        f"x={folder}/x.npy",
        "--set",
        "agg=apply",
        "--set",
        f"function={folder}/none.cu",
        "--check",
    )
    expect_error(done, 2, f"function={folder}/none.cu: no such file")


def test_rows_tell_nothing_of_people(folder):
    """A function's row has its name and hash; a case from a row runs where the file is; messages name no temporary file."""
    secret, out = folder / "secret-project", folder / "p.jsonl"
    secret.mkdir()
    shutil.copy(FUNCTION, secret / "mine.cu")
    (secret / "broken.cu").write_text(FUNCTION.read_text().replace("arr_len; i++", "undeclared; i++") + "\nint real;\n")
    for name, verdict, code in (("mine.cu", "pass", 0), ("broken.cu", "error", 1)):
        done = call(
            "run",
            f"rolling agg=apply function={secret}/{name} n=100 window=3",
            "--variants",
            "cpu_apply",
            "--verify-only",
            "--out",
            out,
        )
        row = rows_of(out)[-1]
        expect(
            done.returncode == code and row["verdict"] == verdict and row["params"]["function"].startswith(f"{name}#"),
            f"{name}: {row['case']}",
            done,
        )
        expect(
            "undeclared" in row["reason"] and "rungs-worker" not in row["reason"] if code else not row["reason"],
            f"reason: {row['reason']}",
        )
    expect("secret-project" not in out.read_text(), "no folder is in the rows")
    case = rows_of(out)[0]["case"]
    done = call("run", case, "--variants", "cpu_apply", "--verify-only", "--out", out, "--resume", cwd=secret)
    expect(
        done.returncode == 0 and len(rows_of(out)) == 2, "the case of the row is the same one where its file is", done
    )
    expect_error(call("run", case, cwd=folder), 2, "mine.cu#", "there is no mine.cu here")
    (secret / "mine.cu").write_text(FUNCTION.read_text() + "// changed\n")
    expect_error(call("run", case, cwd=secret), 2, "mine.cu has changed")
    done = call(
        "run",
        "rolling agg=apply function=examples/apply/running_mean.cu n=100 window=3",
        "--variants",
        "cpu_apply",
        "--verify-only",
        "--out",
        out,
        cwd=folder,
    )
    expect(
        done.returncode == 0 and rows_of(out)[-1]["params"]["function"] == "examples/apply/running_mean.cu",
        "a file of the checkout keeps its path",
        done,
    )


def test_what_the_machine_lacks_for_the_moment_is_no_verdict(folder):
    """Too few descriptors are an error that --resume tries again; a folder for temporary files that does not exist is named."""
    out = folder / "e.jsonl"
    arguments = ["run", "double n=1003", "--variants", "cpu_loop", "--verify-only", "--out", out]
    verdicts = set()
    for most in range(4, 64):
        done = call(*arguments, preexec_fn=lambda most=most: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
        written = rows_of(out) if out.exists() else []
        verdicts |= {row["verdict"] for row in written}
        expect(
            done.returncode == 0
            or "Too many open files" in done.stderr + "".join(row["reason"] or "" for row in written),
            f"{most} descriptors: {done.returncode}",
            done,
        )
        if "pass" in verdicts:
            break
    expect(verdicts == {"error", "pass"}, f"verdicts: {verdicts}")
    out.write_text("".join(line for line in open(out) if json.loads(line).get("verdict") != "pass"))
    done = call(*arguments, "--resume")
    expect(done.returncode == 0 and rows_of(out)[-1]["verdict"] == "pass", "--resume tries again", done)
    done = call(*arguments, env={**os.environ, "TMPDIR": "/no/such/folder"})
    expect_error(done, 4, "/no/such/folder (TMPDIR)", "No such file")
    expect("/proc/self/exe" not in done.stderr, "nothing else is blamed", done)


@pytest.mark.parametrize(
    "line, expected",
    [
        ("import no_such_library", ("skip", "no_such_library is not installed")),
        ("from no_such_library.part import thing", ("skip", "no_such_library is not installed")),
        (
            "raise ImportError('libx.so: cannot open shared object file: Too many open files')",
            ("error", "Too many open files"),
        ),
        ("1 / 0", ("error", "ZeroDivisionError")),
    ],
)
def test_a_peer_without_its_module(folder, line, expected):
    """What it needs at file level, and has not got, is a skip; what the machine lacks is an error."""
    impls = folder / "impls"
    shutil.copytree(SOURCE / "impls/common", impls / "common")
    (impls / "double").mkdir()
    (impls / "double/peer_test.py").write_text(f"{line}\n")
    ours, theirs, arrays = os.pipe(), os.pipe(), socket.socketpair()
    socket.send_fds(arrays[0], [b"\0"], [0])
    worker = subprocess.Popen(
        [
            sys.executable,
            SOURCE / "harness/device/peer_worker.py",
            "--commands",
            str(ours[0]),
            "--replies",
            str(theirs[1]),
            "--arrays",
            str(arrays[1].fileno()),
            "--measure",
            BUILD / "lib/librungs_measure.so",
            "--impls",
            impls,
        ],
        pass_fds=[ours[0], theirs[1], arrays[1].fileno()],
        stderr=subprocess.DEVNULL,
    )
    os.close(ours[0]), os.close(theirs[1])
    with os.fdopen(ours[1], "w") as commands, os.fdopen(theirs[0]) as replies:
        for command in (
            {"do": "open", "variant": "double/peer_test", "case": {}, "inputs": [], "outputs": []},
            {"do": "supports"},
        ):
            print(json.dumps(command), file=commands, flush=True)
            reply = json.loads(replies.readline())
    worker.wait(30)
    arrays[0].close(), arrays[1].close()
    expect(expected[1] in reply.get(expected[0], ""), f"{line}: {reply}")


def test_too_little_memory_for_a_list_is_an_error_and_never_half_a_list():
    ends = set()
    for most in (*range(256 << 10, 3 << 20, 32 << 10), 64 << 20):  # the last is enough, whatever the C library takes
        done = call(
            "list", "ops", "--json", preexec_fn=lambda most=most: resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        )
        try:
            whole = len(json.loads(done.stdout)) > 3
        except ValueError:
            whole = False
        if whole != (done.returncode == 0):
            expect(False, f"{most} bytes: {'all' if whole else 'part'} of the list", done)
        ends.add(done.returncode)
    expect(0 in ends and len(ends) > 1, f"the list is whole or refused: exit codes {ends}")


@needs_emulator
def test_quotes_in_the_path_of_the_program_are_letters_like_others(folder):
    """The emulator asks addr2line without a shell."""
    place, out = folder / "a'; touch marked; '", folder / "em.jsonl"
    place.mkdir()
    copy_mutants(place / "rungs-mutants")
    shutil.copy2(BUILD / "bin/rungs-emulator", place / "rungs-emulator")
    done = call(
        "run",
        "double n=1003",
        "--variants",
        "cuda_overruns",
        "--emulate",
        "--out",
        out,
        program=place / "rungs-mutants",
        cwd=folder,
    )
    row = rows_of(out)[-1]
    expect(
        row["verdict"] == "error" and "cuda_overruns.cu:" in row["reason"], f"the line is found: {row['reason']}", done
    )
    expect(not (folder / "marked").exists(), "and nothing else is run")
