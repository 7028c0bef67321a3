"""What goes wrong costs its own row and nothing else: a killed parent, a full disk, a crashing neighbour."""

import json
import os
import pathlib
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from program import MUTANTS, RUNGS, SOURCE, call, copy_mutants, expect, expect_error, rows_of

CASE = "double n=1003 input=normal dtype=f64"


def test_a_crash_a_hang_and_memory_without_end_leave_other_rows_as_they_should_be(folder):
    out = folder / "rows.jsonl"
    done = call(
        "run",
        CASE,
        "--variants",
        "cpu_crashes,cpu_eats_memory,cpu_hangs,cpu_right,cpu_zeros",
        "--quick",
        "--timeout",
        "3s",
        "--memory-limit",
        "512M",
        "--out",
        out,
        program=MUTANTS,
    )
    verdicts = {row["variant"]: row["verdict"] for row in rows_of(out)}
    expect(
        verdicts
        == {
            "double/cpu_crashes": "error",
            "double/cpu_eats_memory": "error",
            "double/cpu_hangs": "error",
            "double/cpu_right": "pass",
            "double/cpu_zeros": "fail",
        },
        f"each row has its own fate: {verdicts}",
        done,
    )


def processes_of(program):
    """The process ids of a program's workers, by the file that they run; and its own, if we are root: it is not dumpable, which hides it."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "exe") == str(program):
                found.append(int(entry.name))
        except OSError:  # it has ended, or is another user's
            pass
    return found


def wait_until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def rows_written(path):
    return path.read_text().count('"kind":"row"') if path.exists() else 0


def test_kill_9_loses_no_finished_row_and_leaves_no_worker(folder):
    """In the middle; --resume runs the rest and nothing twice."""
    out, program = folder / "rows.jsonl", folder / "rungs-mutants"
    copy_mutants(program)  # a file of its own, so that its processes are told from those of other tests
    arguments = [
        "run",
        CASE,
        "--variants",
        "cpu_detached_thread,cpu_garbage_later,cpu_hangs,cpu_right,cpu_stale,cpu_zeros",
        "--verify-only",
        "--timeout",
        "4s",
        "--out",
        str(out),
    ]
    parent = subprocess.Popen([program, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # The third variant hangs: two rows, and the parent waiting for a worker.
    busy = wait_until(lambda: rows_written(out) >= 2 and set(processes_of(program)) - {parent.pid})
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    before = [row["variant"] for row in rows_of(out)]
    expect(busy and 2 <= len(before) < 6, f"killed in the middle, with a worker at work, after {len(before)} rows")
    expect(wait_until(lambda: not processes_of(program), 5), f"no worker outlived its parent: {processes_of(program)}")
    with open(out, "a") as file:
        file.write('{"kind": "row", "cut')  # what a kill in the middle of a write would leave
    done = call(*arguments, "--resume", program=program)
    after = [row["variant"] for row in rows_of(out)]
    expect(
        after[: len(before)] == before and len(after) == 6 and len(set(after)) == 6,
        f"--resume finished the rest: {after}",
        done,
    )
    expect("dropped" in done.stderr, "the cut line was dropped and said so", done)
    expect(f"{len(before)} rows already present" in done.stdout, "what was left out is counted", done)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_rows_and_the_command_that_finishes_the_rest(folder, number):
    """The program says where the rows are. No worker is left."""
    out, program = folder / "rows of today.jsonl", folder / "rungs-mutants"
    copy_mutants(program)
    arguments = [
        "run",
        CASE,
        "--variants",
        "cpu_garbage_later,cpu_hangs,cpu_right,cpu_zeros",
        "--verify-only",
        "--timeout",
        "4s",
        "--out",
        str(out),
    ]
    parent = subprocess.Popen([program, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    busy = wait_until(lambda: rows_written(out) >= 1 and set(processes_of(program)) - {parent.pid})
    parent.send_signal(number)
    told = parent.communicate(timeout=30)[1]
    expect(busy and parent.returncode == 128 + number, f"exit code {parent.returncode} for signal {number}: {told}")
    before = [row["variant"] for row in rows_of(out)]  # every line is whole
    nobody = wait_until(
        lambda: not processes_of(program), 10
    )  # who looks for what workers left behind ends a moment later
    expect(1 <= len(before) < 4 and nobody, f"{len(before)} rows are kept, and no worker is left: {told}")
    expect(
        f"rows are in {out}\n" in told and f"{len(before)} rows of this run were written" in told,
        f"it says where: {told}",
    )
    command = shlex.split(told.split("continue with: ")[1])
    expect(command == [str(program), *arguments, "--resume"], f"the command to go on: {command}")
    done = subprocess.run(command, capture_output=True, text=True)
    after = [row["variant"] for row in rows_of(out)]
    expect(
        after[: len(before)] == before and len(set(after)) == len(after) == 4,
        f"which finishes the rest: {after}",
        done,
    )


def test_ctrl_c_on_a_terminal():
    """The line of progress is gone, and what is said begins at the beginning of a line. The default rows file is named."""
    program = [MUTANTS, "run", CASE, "--variants", "cpu_hangs", "--verify-only"]
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "xterm"
        os.execv(program[0], list(map(str, program)))
    seen = b""
    while b"cpu_hangs" not in seen:
        seen += os.read(terminal, 4096)
    os.write(terminal, b"\3")
    try:
        while True:
            seen += os.read(terminal, 4096)
    except OSError:  # EIO: it has ended
        pass
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(terminal)
    told = seen.decode().split("\r\033[K")[-1]
    expect(
        code == 130 and told.startswith("rungs: 0 rows"),
        f"Ctrl-C wipes the line of progress: {code}, {seen.decode()!r}",
    )
    rows = re.search(r"rows are in (\S+)", told).group(1)
    expect(
        pathlib.Path(rows).exists() and f"--resume --out {rows}" in told,
        f"the default file is part of the command: {told!r}",
    )
    pathlib.Path(rows).unlink()


def test_an_earlier_reproduce_is_kept(folder):
    """Under the date of its rows, with its report and figures; not where the command is refused, and not with --resume."""
    folder = folder / "out"
    (folder / "figures").mkdir(parents=True)
    there = {"rows.jsonl": '{"kind": "claim"}\n', "REPORT.md": "mine", "figures/a.png": "drawn"}
    for path, text in there.items():
        (folder / path).write_text(text)
        os.utime(folder / path, (1.7e9, 1.7e9))
    os.utime(folder / "figures", (1.7e9, 1.7e9))
    expect_error(
        call("reproduce", "double", "n=100", "--out", folder), 2, "quote the case: rungs reproduce 'double n=100'"
    )
    expect((folder / "rows.jsonl").read_text() == there["rows.jsonl"], "a refused command moves nothing")
    program = folder.parent / "rungs-mutants"
    copy_mutants(program)
    parent = subprocess.Popen(
        [program, "reproduce", CASE, "--out", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: rows_written(folder / "rows.jsonl") >= 1)
    parent.send_signal(signal.SIGTERM)
    told = parent.communicate(timeout=30)[1]
    kept = folder / "earlier/20231114-221320"
    expect(f"are kept in {kept}\n" in told, f"it says where: {told}")
    expect(
        {path: (kept / path).read_text() for path in there} == there and not (folder / "REPORT.md").exists(),
        "all of it is there",
    )
    command = shlex.split(told.split("continue with: ")[1])
    expect(
        command == [str(program), "reproduce", CASE, "--out", str(folder), "--resume"],
        f"the command to go on: {command}",
    )
    before = (folder / "rows.jsonl").read_text()
    done = call("reproduce", CASE, "--out", folder, "--resume", "--device", "x")
    expect_error(done, 2, "--device")
    expect(
        (folder / "rows.jsonl").read_text() == before
        and [p.name for p in (folder / "earlier").iterdir()] == [kept.name],
        "one earlier result is kept",
    )


def test_a_full_disk_is_an_error_that_names_the_file():
    """/dev/full refuses every byte: an error that names the file, not a silent loss."""
    done = call("run", CASE, "--variants", "cpu_right", "--quick", "--out", "/dev/full", program=MUTANTS)
    expect_error(done, 4, "/dev/full", what="a full disk is an error that names the file")


def test_a_disk_that_fills_in_the_middle_of_a_run(folder):
    """Whole rows are kept, the file is named, and --resume goes on once there is room."""
    mount = [
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        'mount -t tmpfs -o size=96k tmpfs "$0" && exec "$@"',
        folder,
    ]
    if not shutil.which("unshare") or subprocess.run([*mount, "true"], capture_output=True).returncode != 0:
        pytest.skip("this machine lets us mount nothing")
    code = "import pathlib, sys, test_reliability as test; test.on_a_small_disk(pathlib.Path(sys.argv[1]))"
    words = [*mount, sys.executable, "-c", code, folder]
    done = subprocess.run(words, cwd=pathlib.Path(__file__).parent, capture_output=True, text=True)
    expect(done.returncode == 0, "on a small disk", done)


def on_a_small_disk(folder):
    out, filler = folder / "rows.jsonl", folder / "filler"
    filler.write_bytes(bytes(64 << 10))
    arguments = [
        "run",
        *(f"double n=1003 seed={seed}" for seed in range(1, 41)),
        "--variants",
        "cpu_loop",
        "--verify-only",
        "--out",
        out,
    ]
    done = call(*arguments)
    expect_error(done, 4, str(out), "No space left", what="a disk that fills up is an error that names the file")
    kept = [row["case"] for row in rows_of(out)]  # every line is whole
    expect(0 < len(kept) < 40 and out.read_bytes().endswith(b"\n"), f"{len(kept)} whole rows were kept", done)
    filler.unlink()
    done = call(*arguments, "--resume")
    cases = [row["case"] for row in rows_of(out)]
    expect(
        done.returncode == 0 and cases[: len(kept)] == kept and len(cases) == len(set(cases)) == 40,
        "--resume finished the rest",
        done,
    )
    np.save(folder / "x.npy", np.ones(500))
    filler.write_bytes(bytes(os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize))
    done = call("exec", "rolling/cpu_naive", "--in", f"x={folder}/x.npy", "--out", f"y={folder}/y.npy")
    expect_error(done, 4, f"{folder}/y.npy", "No space left", what="exec names its output on a full disk")
    expect(sorted(p.name for p in folder.iterdir()) == ["filler", "rows.jsonl", "x.npy"], "and leaves nothing of it")


def test_cases_that_cannot_be(folder):
    """A case too large for this machine, and one whose truth is the user's code and crashes: each variant has its own row, and the next case runs."""
    out, function = folder / "rows.jsonl", folder / "crash.cu"
    function.write_text(
        "__device__ void window_function(const real *shared, int history_len, real *out, int window_size, int arr_len, int offset) {\n"
        "    if (sizeof(real) > 8) { volatile int *p = 0; *p = 1; }\n    for (int i = 0; i < arr_len; i++) out[i] = 0;\n}\n"
    )
    done = call(
        "run",
        "rolling n=1e11 window=3",
        f"rolling agg=apply function={function} n=500 window=3",
        "double n=1003",
        "--variants",
        "cpu_naive,cpu_best,cpu_apply,cpu_loop",
        "--verify-only",
        "--out",
        out,
    )
    verdicts = {(row["variant"], row["params"]["n"]): (row["verdict"], row["reason"] or "") for row in rows_of(out)}
    large = [verdicts[variant, 10**11] for variant in ("rolling/cpu_naive", "rolling/cpu_best")]
    expect(
        all(verdict == "skip" and "GiB" in reason for verdict, reason in large),
        f"too large for memory is a skip with the sizes: {large}",
        done,
    )
    crashed = verdicts["rolling/cpu_apply", 500]
    expect(
        crashed[0] == "error" and "reference" in crashed[1],
        f"a reference that crashes is the row's error: {crashed}",
        done,
    )
    expect(verdicts["double/cpu_loop", 1003][0] == "pass", "and the case after them passes", done)


def test_resume_knows_rows_apart(folder):
    """An emulated row does not stand for one on a device, nor a strict one for one under a declared bound."""
    out, scenario = folder / "rows.jsonl", folder / "twice.yaml"
    suite = "  - op: rolling\n    axes: {n: [1000], window: [30], input: [normal]}\n    variants: [cpu_naive, peer_pandas]\n    bounds: "
    scenario.write_text("title: x\nsuites:\n" + suite + "strict\n" + suite + "declared\n")
    first = call("run", scenario, "--variants", "cpu_naive", "--verify-only", "--out", out)
    again = call("run", scenario, "--variants", "cpu_naive", "--verify-only", "--out", out, "--resume")
    expect(
        first.returncode == 0 and again.returncode == 0 and len(rows_of(out)) == 2,
        "both suites have their row, and --resume adds none",
        again,
    )


HEAD = "title: x\nsuites:\n  - op: rolling\n"


@pytest.mark.parametrize(
    "text, words",
    [
        ("    axes:\n      window: [3, abc]\n    variants: [cpu_naive]\n", ["bad.yaml:5:", "abc", "integer"]),
        ("    axs: {}\n    variants: [cpu_naive]\n", ["bad.yaml:4:", "axs", "axes"]),
        ("    axes: {window: []}\n    variants: [cpu_naive]\n", ["bad.yaml:4:", "window"]),
    ],
    ids=["value", "key", "empty"],
)
def test_a_line_of_a_scenario_is_told(folder, text, words):
    (folder / "bad.yaml").write_text(HEAD + text)
    expect_error(call("run", folder / "bad.yaml"), 2, *words)


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["run", "no/such/scenario"], ["no/such/scenario"]),
        (["run", "rolling window=abc n=10"], ["column", "abc"]),
        (["run", "roling window=3"], ["roling", "rolling"]),
        (["run", CASE, "--variants", "cuda_nothing"], ["cuda_nothing"]),
        (["run", CASE, "--budget", "soon"], ["--budget", "soon"]),
        (["run", CASE, "--shard", "3/2"], ["--shard"]),
        (["run", "double", "n=100"], ["double is an op; quote the case: rungs run 'double n=100'"]),
        (["run", "smoke/double", "double", "n=1e3", "seed=2", "--quick"], ["rungs run 'double n=1e3 seed=2'"]),
        (["run", "double"], ["double is an op; quote the case: rungs run 'double n=1000003'"]),
        (["run", "duble", "n=100"], ["unknown op 'duble'", "did you mean 'double'"]),
        (["calibrate", "double", "n=100"], ["rungs calibrate 'double n=100'"]),
        (["ab", RUNGS, RUNGS, "double", "n=100"], ["'double n=100'"]),
        (["run"], ["scenario or a case"]),
        (["run", "smok"], ["did you mean 'smoke'"]),  # a folder of scenarios has a name, too
        (["run", "publishd/rolling"], ["did you mean 'published/rolling'"]),
        (["rn"], ["did you mean 'run'"]),
        (["list", "things"], ["things", "variants"]),
    ],
    ids=lambda words: " ".join(words)[-60:],
)
def test_bad_words_are_told(arguments, words):
    expect_error(call(*arguments), 2, *words)


def test_help_is_good_and_nothing_is_not():
    assert call("--help").returncode == 0 and call().returncode == 2


def test_what_the_program_says_of_itself():
    """What the program says of itself, and the help of every verb by either way to ask for it."""
    version = re.search(r"^project\(rungs VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text(), re.M).group(1)
    assert f"\nversion: {version}\n" in (SOURCE / "CITATION.cff").read_text()
    done = call("--version")
    expect(
        done.returncode == 0 and done.stdout.splitlines()[0].split(" (")[0] == f"rungs {version}",
        "the version is the project's",
        done,
    )
    expect(
        all(word in done.stdout for word in ("\nbuild: ", "\ncompiler: ", "\nCUDA compiler: ")),
        "--version names the compilers",
        done,
    )
    commit = "c" * 40
    told = call("-V", env={**os.environ, "RUNGS_COMMIT": commit})
    expect(f"(commit {commit[:12]})" in told.stdout, "and the commit", told)
    expect(call("help").stdout == call("--help").stdout, "help is --help")
    verbs = re.findall(r"^  (\w+) ", call("--help").stdout, re.M)
    expect({"run", "reproduce", "report", "compare"} <= set(verbs), f"the usage lists the verbs: {verbs}")
    for verb in set(verbs) - {"test"}:
        one, other = call("help", verb), call(verb, "--help")
        expect(
            one.returncode == other.returncode == 0
            and one.stdout == other.stdout
            and f"usage: rungs {verb}" in one.stdout,
            f"help {verb}",
            one,
        )
    expect_error(call("help", "rn"), 2, "did you mean 'run'")


@pytest.mark.parametrize(
    "what, keys",
    {
        "variants": {"id", "backend", "summary", "origin", "tunables"},
        "ops": {"name", "summary", "params", "inputs", "outputs"},
        "scenarios": {"name", "title"},
        "claims": {"id", "statement", "source", "hardware"},
    }.items(),
)
def test_a_list_has_its_keys(what, keys):
    done = call("list", what, "--json")
    items = json.loads(done.stdout)
    expect(done.returncode == 0 and items and all(keys <= set(item) for item in items), f"{sorted(keys)}", done)


def test_what_is_known_is_listed():
    ids = {item["id"] for item in json.loads(call("list", "variants", "--json").stdout)}
    expect(
        {"rolling/cpu_naive", "rolling/cpu_best", "double/cpu_loop", "rolling/peer_pandas"} <= ids,
        "known variants are listed",
    )
    rolling = next(op for op in json.loads(call("list", "ops", "--json").stdout) if op["name"] == "rolling")
    names = [
        [array if isinstance(array, str) else array["name"] for array in rolling[key]] for key in ("inputs", "outputs")
    ]
    expect(names == [["x"], ["y"]], "rolling reads x and writes y")
