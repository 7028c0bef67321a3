"""What a worker cannot do to others: to the program, to the rows after its own, to what it is judged by, to the user's disk."""

import os
import pathlib
import re
import signal
import subprocess
import time

import numpy as np
import pytest

from program import MUTANTS, RUNGS, SANITIZED, at_once, call, expect, rows_of

CASE = "double n=100003 input=normal dtype=f64"
SEGMENTS = r"signal 11.*rungs-worker: wrote {}"
# how -> verdict and what its reason must say. The right variant after it must pass.
EXPECTED = {
    "abort_in_supports": ("error", r"^supports\(\): crashed: signal 6"),
    "fork_in_supports": ("error", r"^supports\(\): started a process"),
    "abort_in_scratch": ("error", r"^crashed: signal 6"),
    "abort_in_configuration": ("error", r"^crashed: signal 6"),
    "abort_in_release": ("error", r"^at its end: crashed: signal 6"),
    "abort_at_exit": ("error", r"^at its end: crashed: signal 6"),
    "exit_code": ("error", r"^at its end: ended with exit code 7"),
    "leaves_process": ("error", r"^at its end: exited; left 1 process running"),
    "leaves_daemon": ("error", r"^at its end: exited; left 1 process running"),
    "shared_memory": ("error", r"exceeded its limit of 0\.12 GiB"),
    "memory_of_children": ("error", r"exceeded its limit of 0\.12 GiB"),
    "writes_descriptors": ("pass", r"^$"),  # nothing is there but its own pipes
    "forges_input": ("fail", r"^y\[0\] is 0 \(0x0p\+0\)"),
    "restores_input": ("error", SEGMENTS.format(r"to input x, byte 400008 of 800024")),
    "leaps_64k": ("error", SEGMENTS.format(r"65536 bytes past the end of y")),
    "leaps_1m": ("error", SEGMENTS.format(r"1048576 bytes past the end of y")),
    "leaps_back": ("error", SEGMENTS.format(r"65536 bytes before the start of y")),
}
# variant -> the same, under a time-out of 1 s
HANGING = {
    "cpu_takes_along how=hang_in_supports": r"^supports\(\): timed out after 1 s",
    "cpu_takes_along how=hang_in_prepare": r"^timed out after 1 s",
    "cpu_takes_along how=hang_in_release": r"^at its end: timed out after 1 s",
    "peer_hangs_in_prepare": r"^timed out after 1 s",
}


OURS = f"RUNGS_TEST_ISOLATION={os.getpid()}"  # in the environment of all processes of this file, not of those of other tests
os.environ.update([OURS.split("=")])


def environment_has(pid, setting):
    """Was it started with this? What has ended does not count."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return f"{setting}\0".encode() in file.read()
    except OSError:
        return False


def left_running():
    """Processes of this test's programs: their command line is the worker's, wherever their session is."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            ours = entry.name.isdigit() and os.readlink(entry / "exe") == str(MUTANTS.resolve())
            if ours and environment_has(entry.name, OURS):
                found.append((int(entry.name), (entry / "stat").read_text().rsplit(")")[-1].split()[:2]))
        except OSError:
            pass
    return [pid for pid, (_, parent) in found if parent == "1"]


@pytest.mark.parametrize("how", EXPECTED)
@at_once
def test_a_hostile_variant_costs_its_row_alone(folder, how):
    if SANITIZED and re.match("restores_input|leaps_|shared_memory|memory_of_children", how):
        pytest.skip("a sanitized process ends itself, and maps a great deal")
    verdict, pattern = EXPECTED[how]
    words = ("--variants", f"cpu_takes_along how={how},cpu_right", "--verify-only", "--memory-limit", "128M")
    done = call("run", CASE, *words, "--out", folder / "rows.jsonl", program=MUTANTS)
    after, row = sorted(rows_of(folder / "rows.jsonl"), key=lambda row: "how" in row["tunables"])
    expect(
        row["verdict"] == verdict and re.search(pattern, row["reason"] or "", re.S),
        f"{row['verdict']}: {row['reason']}",
        done,
    )
    expect(after["verdict"] == "pass" and done.returncode == (verdict != "pass"), "the run goes on to its end", done)


@pytest.mark.parametrize("variant, pattern", HANGING.items(), ids=HANGING)
@at_once
def test_the_time_out_holds_for_every_command(folder, variant, pattern):
    """Without what the start of a process or a library may take besides."""
    out = folder / "rows.jsonl"
    begin = time.monotonic()
    done = call("run", CASE, "--variants", variant, "--verify-only", "--timeout", "1s", "--out", out, program=MUTANTS)
    reasons = [row["reason"] for row in rows_of(out) if row["verdict"] == "error"]
    expect(done.returncode == 1 and len(reasons) == 1 and re.search(pattern, reasons[0]), f"{reasons}", done)
    expect(time.monotonic() - begin < 60, "at once")


@at_once
def test_orphans_of_a_shell_are_not_the_workers(folder):
    """A shell that becomes the program leaves it children of its own: they are not the worker's."""
    out = folder / "rows.jsonl"
    words = [MUTANTS, "run", CASE, "--variants", "cpu_takes_along how=leaves_daemon", "--verify-only", "--out", out]
    with subprocess.Popen(
        ["bash", "-c", '(setsid sleep 60 & echo $!; sleep 0.2) & sleep 60 & echo $!; exec "$@" >&2', "bash", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as program:
        sleeping = [int(program.stdout.readline()) for _ in range(2)]
        program.stdout.close()
        program.wait(60)
    reasons = [row["reason"] or "" for row in rows_of(out)]
    running = [pid for pid in sleeping if pathlib.Path(f"/proc/{pid}/comm").read_text() == "sleep\n"]
    for pid in running:
        os.kill(pid, signal.SIGKILL)
    expect(
        len(reasons) == 1 and "left 1 process running" in reasons[0] and running == sleeping,
        f"the worker's orphan is told from others: {reasons}",
    )


@at_once
def test_rows_after_a_hostile_variant_are_as_they_should_be(folder):
    out = folder / "neighbours.jsonl"
    hows = ["leaves_daemon", "forges_input"]
    cases = [f"double n=100003 input=normal dtype=f64 seed={seed}" for seed in range(len(hows))]
    for how, case in zip(hows, cases):
        call(
            "run",
            case,
            "--variants",
            f"cpu_takes_along how={how},cpu_right,cpu_zeros",
            "--verify-only",
            "--out",
            out,
            program=MUTANTS,
        )
    verdicts = [(row["variant"], row["verdict"]) for row in rows_of(out) if row["variant"] != "double/cpu_takes_along"]
    expect(
        verdicts == [("double/cpu_right", "pass"), ("double/cpu_zeros", "fail")] * len(hows),
        f"the rows after it are as they should be: {verdicts}",
    )
    before = len(rows_of(out))
    done = call(
        "run",
        cases[0],
        "--variants",
        "cpu_takes_along how=abort_in_supports,cpu_right",
        "--verify-only",
        "--out",
        out,
        "--resume",
        program=MUTANTS,
    )
    expect(len(rows_of(out)) == before + 1 and done.returncode == 1, "--resume tries it again, and goes on", done)


@at_once
def test_a_worker_inherits_no_descriptor(folder):
    """What the program was started with open is not the worker's."""
    out, secret = folder / "descriptors.jsonl", folder / "secret"
    with open(secret, "w") as file:
        file.write("kept")
        file.flush()
        done = call(
            "run",
            CASE,
            "--variants",
            "cpu_takes_along how=writes_descriptors",
            "--verify-only",
            "--out",
            out,
            program=MUTANTS,
            pass_fds=[file.fileno()],
        )
    expect(
        [row["verdict"] for row in rows_of(out)] == ["pass"] and secret.read_text() == "kept",
        "a file that the program inherited is as it was",
        done,
    )


@at_once
def test_values_that_look_as_if_nobody_had_written_them(folder):
    """Correct values that look as if nobody had written them, two patterns of them."""
    x = np.array([1] + [np.frombuffer(bytes([byte]) * 8, "<f8")[0] / 2 for byte in (0x7B, 0xFB)])
    np.save(folder / "x.npy", x)
    done = call("exec", "double/cpu_loop", "--in", f"x={folder}/x.npy", "--out", f"y={folder}/y.npy", "--check")
    expect(
        done.returncode == 0 and np.array_equal(np.load(folder / "y.npy"), 2 * x),
        "outputs that equal the poison pass",
        done,
    )
    expect(done.stdout.count("y passes") == 1, "and it is said once", done)


@at_once
def test_code_of_the_user_leaves_nothing_in_tmpdir(folder):
    """Neither a function that crashes while it is loaded nor a compiler that never ends."""
    temporary, seen = folder / "tmp", pathlib.Path("/dev/shm") / folder.name  # the worker may write there
    temporary.mkdir()
    body = "__device__ void window_function(const real *shared, int history_len, real *out, int window_size, int arr_len, int offset) {}\n"
    (folder / "crash.cu").write_text(
        body + "__attribute__((constructor)) static void crash(void) { __builtin_trap(); }\n"
    )
    (folder / "cc").write_text(
        f"#!/bin/sh\n[ -e '{temporary}'/rungs-worker-* ] && touch '{seen}'\ntouch $TMPDIR/ccXYZ.s\nexec sleep 60\n"
    )
    (folder / "cc").chmod(0o755)
    (folder / "fine.cu").write_text(body)
    environment = {**os.environ, "TMPDIR": str(temporary)}
    np.save(folder / "x.npy", np.ones(500))
    for function, compiler, timeout, words in (
        ("crash.cu", "", "60s", "signal 4"),
        ("fine.cu", str(folder / "cc"), "1s", "timed out"),
    ):
        done = call(
            "exec",
            "rolling/cpu_apply",
            "--in",
            f"x={folder}/x.npy",
            "--set",
            "agg=apply",
            "--set",
            f"function={folder / function}",
            "--set",
            "window=3",
            "--out",
            f"y={folder}/y.npy",
            "--timeout",
            timeout,
            env={**environment, "RUNGS_HOST_CC": compiler},
        )
        expect(done.returncode != 0 and words in done.stderr, f"{function}: {words}", done)
        expect(not list(temporary.iterdir()), f"{function}: nothing is left: {list(temporary.iterdir())}")
    expect(seen.exists(), "though there was something")
    seen.unlink()


def wait_until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(condition())


def copies(pid, temporary):
    """Bytes in the files without a name that a process has open in a folder; 0 once it has ended."""
    total = 0
    try:
        numbers = os.listdir(f"/proc/{pid}/fd")
    except OSError:  # it is ending: its folder is no longer ours to read
        return 0
    for number in numbers:
        try:
            if os.readlink(f"/proc/{pid}/fd/{number}").startswith(f"{temporary}/"):
                total += os.stat(f"/proc/{pid}/fd/{number}").st_size
        except OSError:  # closed since
            pass
    return total


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@at_once
def test_an_exec_that_is_ended_leaves_no_copy_of_columns(folder, number):
    """Nor a program at work on them."""
    rows = "".join(f"Somebody {i},{i % 2}\n" for i in range(20000))
    (folder / "names.csv").write_text("name,visible\n" + rows)
    temporary = folder / "temporary"
    temporary.mkdir()
    program = subprocess.Popen(
        [
            RUNGS,
            "exec",
            "redact/cpu_best",
            "--in",
            f"names={folder}/names.csv:name",
            "--in",
            f"visibilities={folder}/names.csv:visible",
            "--out",
            f"redacted={folder}/out.arrow",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    seen = wait_until(lambda: copies(program.pid, temporary) or program.poll() is not None) and program.poll() is None
    program.send_signal(number)
    program.wait()
    gone = wait_until(
        lambda: (
            not [pid for pid in os.listdir("/proc") if pid.isdigit() and environment_has(pid, f"TMPDIR={temporary}")]
        ),
        10,
    )
    expect(
        seen and gone and not list(temporary.iterdir()),
        f"signal {number}: nothing is left: {list(temporary.iterdir())}, processes ended: {gone}",
    )


def test_no_process_is_left(begun):
    for future in begun.values():
        future.exception()
    assert wait_until(lambda: not left_running(), 10), left_running()
