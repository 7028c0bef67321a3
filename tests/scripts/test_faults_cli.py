"""Bad input costs a message, not time; what the machine lacks for the moment is no verdict for good; rows tell nothing of people."""

import json
import os
import pathlib
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from program import BUILD, SOURCE, call, copy_mutants, expect, expect_error, rows_of

FUNCTION = SOURCE / "examples/apply/first_minus_last.cu"
HEAD = "title: x\nsuites:\n  - op: rolling\n    variants: [cpu_naive]\n    axes: "


def limits(folder):
    """Sizes are looked at before contents; what takes a minute today takes none of a test's time."""
    scenario = folder / "s.yaml"
    for text, words in (
        (HEAD + "{seed: [" + ",".join(map(str, range(200001))) + "]}\n", ("s.yaml:5:", "200001 values; at most 20000")),
        ("[" * 100000, ("s.yaml:1:101", "open brackets")),
        ("{a: " * 100000, ("s.yaml:1:", "open brackets")),
        ("".join(f"a{i}: &a{i} [x]\n" for i in range(100000)), ("anchors",)),
        (HEAD + "{" + ", ".join(f"a{i}: [1]" for i in range(50000)) + "}\n", ("s.yaml:5:", "50000 keys; at most 100")),
        (
            HEAD + "{seed: [" + ",".join(map(str, [*range(19999), 7])) + "]}\n",
            ("s.yaml:5:", "the same value as element 8"),
        ),
    ):
        scenario.write_text(text)
        begin = time.process_time(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        done = call("run", scenario, "--out", folder / "o.jsonl", timeout=100)
        used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begin[1]
        expect_error(done, 2, *words)
        expect(used < 10, f"in {used:.2f} s of a processor")
    for path in ("/dev/zero", folder):
        (folder / "zero.yaml").unlink(missing_ok=True)
        (folder / "zero.yaml").symlink_to(path)
        expect_error(call("run", folder / "zero.yaml", timeout=60), 2, "zero.yaml")
    expect_error(call("judge", "/dev/zero", timeout=60), 2, "/dev/zero", "more than")
    (folder / "deep.jsonl").write_text('{"kind":"row","schema":1,"a":' + "[" * 100000 + "]" * 100000 + "}\n")
    for verb in (("export", "csv"), ("judge",), ("report", "--out", folder / "page.md")):
        done = call(*verb, folder / "deep.jsonl")
        expect_error(done, 2, "deep.jsonl:1")
        expect("Traceback" not in done.stderr, f"{verb[0]} has no traceback")


def malformed(folder):
    """Rows that are not as docs/RESULTS.md has them: the file and line, not a traceback."""
    path, good = (
        folder / "rows.jsonl",
        json.loads(
            next(
                line
                for line in open(SOURCE / "tests/golden/rows.jsonl")
                if '"kind": "row"' in line or '"kind":"row"' in line
            )
        ),
    )
    for key, value in (
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
    ):
        path.write_text(json.dumps({**good, key: value}) + "\n")
        done = (
            subprocess.run(
                [
                    sys.executable,
                    "-c",
                    "import sys; from analysis.export.__main__ import main; sys.exit(main())",
                    "csv",
                    path,
                ],
                capture_output=True,
                text=True,
                cwd=SOURCE,
            )
            if key == "run"
            else None
        )
        sys.path.insert(0, str(SOURCE))
        from analysis import lines

        try:
            told = list(lines.read_lines(path, [])) and "nothing"
        except lines.BadResults as error:
            told = str(error)
        expect(told.startswith(f"{path}:1:") and key in told, f"{key}: {json.dumps(value)}: {told}")
        if done:
            expect(
                done.returncode == 2 and f"{path}:1:" in done.stderr and "Traceback" not in done.stderr,
                "export ends with 2",
                done,
            )


def functions(folder):
    """A function that cannot be one is the user's mistake, told before anything runs."""
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


def private(folder):
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


def for_the_moment(folder):
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


def peers_without_a_module(folder):
    """A module that a peer needs at file level, and has not got, is a skip; what the machine lacks is an error."""
    impls = folder / "impls"
    shutil.copytree(SOURCE / "impls/common", impls / "common")
    (impls / "double").mkdir()
    for name, line, expected in (
        ("peer_absent", "import no_such_library", ("skip", "no_such_library is not installed")),
        ("peer_within", "from no_such_library.part import thing", ("skip", "no_such_library is not installed")),
        (
            "peer_starved",
            "raise ImportError('libx.so: cannot open shared object file: Too many open files')",
            ("error", "Too many open files"),
        ),
        ("peer_broken", "1 / 0", ("error", "ZeroDivisionError")),
    ):
        (impls / f"double/{name}.py").write_text(f"{line}\n")
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
                "--impls",
                impls,
            ],
            pass_fds=[ours[0], theirs[1], arrays[1].fileno()],
            stderr=subprocess.DEVNULL,
        )
        os.close(ours[0]), os.close(theirs[1])
        with os.fdopen(ours[1], "w") as commands, os.fdopen(theirs[0]) as replies:
            for command in (
                {"do": "open", "variant": f"double/{name}", "case": {}, "inputs": [], "outputs": []},
                {"do": "supports"},
            ):
                print(json.dumps(command), file=commands, flush=True)
                reply = json.loads(replies.readline())
        worker.wait(30)
        arrays[0].close(), arrays[1].close()
        expect(expected[1] in reply.get(expected[0], ""), f"{line}: {reply}")


def starved(folder):
    """Too little memory for a list of JSON is an error, and never half a list."""
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


def emulated(folder):
    """The emulator asks addr2line without a shell: quotes in the program's path are letters like others."""
    emulator = BUILD / "bin/rungs-emulator"
    if not emulator.exists():
        print("skip the emulator: not built")
        return
    place, out = folder / "a'; touch marked; '", folder / "em.jsonl"
    place.mkdir()
    copy_mutants(place / "rungs-mutants")
    shutil.copy2(emulator, place / "rungs-emulator")
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


def main():
    for test in (limits, malformed, functions, private, for_the_moment, peers_without_a_module, starved, emulated):
        with tempfile.TemporaryDirectory() as folder:
            test(pathlib.Path(folder).resolve())


if __name__ == "__main__":
    main()
