"""What a worker cannot do to others: to the program, to the rows after its own, to what it is judged by, to the user's disk."""

import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from program import MUTANTS, RUNGS, SANITIZED, call, expect, rows_of

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
    "forges_input": ("fail", r"^y\[0\] is 0x0p\+0"),
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


def left_running():
    """Processes of this test's programs: their command line is the worker's, wherever their session is."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "exe") == str(MUTANTS.resolve()):
                found.append((int(entry.name), (entry / "stat").read_text().rsplit(")")[-1].split()[:2]))
        except OSError:
            pass
    return [pid for pid, (_, parent) in found if parent == "1"]


def hostile(folder):
    expected = dict(EXPECTED)
    if SANITIZED:  # it ends the process itself, and maps a great deal
        for how in ("restores_input", "leaps_64k", "leaps_1m", "leaps_back", "shared_memory", "memory_of_children"):
            del expected[how]
    out = folder / "rows.jsonl"
    specs = ",".join(f"cpu_takes_along how={how},cpu_right" for how in expected)
    done = call(
        "run", CASE, "--variants", specs, "--verify-only", "--memory-limit", "128M", "--out", out, program=MUTANTS
    )
    rows = {row["tunables"].get("how", "right"): row for row in rows_of(out)}
    expect(done.returncode == 1, "the run goes on to its end", done)
    for how, (verdict, pattern) in expected.items():
        row = rows.get(how, {"verdict": None, "reason": ""})
        expect(
            row["verdict"] == verdict and re.search(pattern, row["reason"] or "", re.S),
            f"{how}: {row['verdict']}: {row['reason']}",
            done,
        )
    expect(wait_until(lambda: not left_running(), 10), f"no process is left: {left_running()}")


def hanging(folder):
    """The time-out holds for every command, without what the start of a process or a library may take besides."""

    def hang(number, variant, pattern):
        out = folder / f"{number}.jsonl"
        begin = time.monotonic()
        done = call(
            "run", CASE, "--variants", variant, "--verify-only", "--timeout", "1s", "--out", out, program=MUTANTS
        )
        reasons = [row["reason"] for row in rows_of(out) if row["verdict"] == "error"]
        expect(
            done.returncode == 1 and len(reasons) == 1 and re.search(pattern, reasons[0]), f"{variant}: {reasons}", done
        )
        expect(time.monotonic() - begin < 60, f"{variant}: at once")

    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda item: hang(*item), [(number, *item) for number, item in enumerate(HANGING.items())]))


def shells(folder):
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


def neighbours(folder):
    """The same right variant after every hostile one, in one run: its verdicts are all pass."""
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


def descriptors(folder):
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


def poison(folder):
    """Correct values that look as if nobody had written them, two patterns of them."""
    x = np.array([1] + [np.frombuffer(bytes([byte]) * 8, "<f8")[0] / 2 for byte in (0xA5, 0x5A)])
    np.save(folder / "x.npy", x)
    done = call("exec", "double/cpu_loop", "--in", f"x={folder}/x.npy", "--out", f"y={folder}/y.npy", "--check")
    expect(
        done.returncode == 0 and np.array_equal(np.load(folder / "y.npy"), 2 * x),
        "outputs that equal the poison pass",
        done,
    )
    expect(done.stdout.count("y passes") == 1, "and it is said once", done)


def user_code(folder):
    """A function that crashes while it is loaded, and a compiler that never ends: nothing stays in $TMPDIR."""
    temporary = folder / "tmp"
    temporary.mkdir()
    body = "__device__ void window_function(const real *shared, int history_len, real *out, int window_size, int arr_len, int offset) {}\n"
    (folder / "crash.cu").write_text(
        body + "__attribute__((constructor)) static void crash(void) { __builtin_trap(); }\n"
    )
    (folder / "cc").write_text(
        f"#!/bin/sh\n[ -e '{temporary}'/rungs-usercode-* ] && touch '{folder}/seen'\ntouch $TMPDIR/ccXYZ.s\nexec sleep 60\n"
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
    expect((folder / "seen").exists(), "though there was something")


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


def marked(pid, temporary):
    """Was it started with this TMPDIR? What has ended does not count."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return f"TMPDIR={temporary}\0".encode() in file.read()
    except OSError:
        return False


def columns(folder):
    """exec, ended in the middle by Ctrl-C or without warning, leaves no copy of the user's columns, and no program at work on them."""
    rows = "".join(f"Somebody {i},{i % 2}\n" for i in range(20000))
    (folder / "names.csv").write_text("name,visible\n" + rows)

    def end_by(number):
        temporary = folder / f"columns-{number}"
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
        seen = (
            wait_until(lambda: copies(program.pid, temporary) or program.poll() is not None) and program.poll() is None
        )
        program.send_signal(number)
        program.wait()
        gone = wait_until(
            lambda: not [pid for pid in os.listdir("/proc") if pid.isdigit() and marked(pid, temporary)], 10
        )
        expect(
            seen and gone and not list(temporary.iterdir()),
            f"signal {number}: nothing is left: {list(temporary.iterdir())}, processes ended: {gone}",
        )

    with ThreadPoolExecutor() as pool:
        list(pool.map(end_by, (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)))


def run(test):
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        test(pathlib.Path(name).resolve())
    print(f"     {test.__name__}: {time.monotonic() - begin:.1f} s")


def main():
    with ThreadPoolExecutor() as pool:  # most of it waits
        list(pool.map(run, (hostile, hanging, neighbours, shells, descriptors, poison, user_code, columns)))


if __name__ == "__main__":
    main()
