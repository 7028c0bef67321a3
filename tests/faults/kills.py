"""kill -9 at random points: of the parent, of a worker, of both. --resume then finishes: no row lost, none twice, every line whole.

The suite runs until it is complete; the instants come from a fixed seed, and are spread over what one undisturbed run takes."""

import concurrent.futures
import os
import random
import signal
import subprocess
import time

from faults import FULL, HOSTILE, Part, Sandbox

CASES = [f"double n=1003 input=normal dtype=f64 seed={seed}" for seed in range(1, 5)]
WORDS = ["--variants", "cpu_right,cpu_hostile at=nowhere", "--verify-only", "--timeout", "10s"]
ROWS = 2 * len(CASES)
TRIES = 100 if FULL else 10


def workers_of(sandbox, parent):
    return [pid for pid in sandbox.processes() if pid != parent]


def kill(sandbox, process, victim):
    """The parent, the next worker that there is, or both. False if the run had ended before."""
    workers = []
    while victim != "parent" and not workers and process.poll() is None:
        workers = workers_of(sandbox, process.pid)
    if process.poll() is not None:
        return False
    for pid in {"parent": [process.pid], "worker": workers[:1], "both": [*workers[:1], process.pid]}[victim]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return True


def keys(rows):
    return [(row["case"], row["spec"]) for row in rows if row["verdict"] != "error"]


def length(sandbox):
    """Seconds of one undisturbed run."""
    begin = time.monotonic()
    code, _, said = sandbox.call(HOSTILE, "run", *CASES, *WORDS, "--out", sandbox.folder / "whole.jsonl")
    if code != 0:
        raise SystemExit(f"BAD  an undisturbed run ended with {code}: {said}")
    return time.monotonic() - begin


def one_kill(sandbox, out, victim, wait):
    """Words for what is wrong with the rows after the kill, the number of rows that were lost, and whether the kill met a run."""
    before = sandbox.rows(out)
    process = sandbox.start(HOSTILE, "run", *CASES, *WORDS, "--resume", "--out", out)
    time.sleep(wait)
    met = kill(sandbox, process, victim)
    try:
        _, said = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        return "no end within 60 s", 0, met
    for line in out.read_text().splitlines(keepends=True) if out.exists() else []:
        if line.endswith("\n"):
            continue
        with open(out, "r+b") as file:  # killed within a write: --resume drops that line; here it is no row
            file.truncate(out.stat().st_size - len(line.encode()))
    after = sandbox.rows(out)
    lost = sum(row not in after for row in before)
    twice = len(keys(after)) - len(set(keys(after)))
    wrong = f"{lost} rows lost" if lost else f"{twice} rows twice" if twice else sandbox.left_behind()
    if not wrong and any(row["verdict"] == "fail" for row in after):
        wrong = "a kill became the verdict fail"
    if not wrong and process.returncode not in (0, 1, -signal.SIGKILL):
        wrong = f"exit code {process.returncode}: {said[-300:]}"
    return wrong, lost, met


def finish(sandbox, out):
    """--resume completes what kills left: every row, each once."""
    for _ in range(2):  # rows that a killed worker made errors get another chance
        code, _, said = sandbox.call(HOSTILE, "run", *CASES, *WORDS, "--resume", "--out", out)
        if code == 0:
            break
    done = keys(sandbox.rows(out))
    return (
        ""
        if code == 0 and len(done) == len(set(done)) == ROWS
        else f"--resume ended with {code} and {len(set(done))} of {ROWS} rows: {said[-300:]}"
    )


def one_try(victim, wait):
    """Words for what is wrong, the number of rows lost, and whether the kill met a run."""
    with Sandbox() as sandbox:
        out = sandbox.folder / "rows.jsonl"
        wrong, lost, met = one_kill(sandbox, out, victim, wait)
        return wrong or finish(sandbox, out), lost, met


def main():
    part, source, hits = Part("kills"), random.Random(18), 0
    with Sandbox() as sandbox:
        seconds = length(sandbox)
    for victim, share in (("parent", 5), ("worker", 2), ("both", 3)):
        waits = [source.uniform(0, 0.9 * seconds) for _ in range(TRIES * share // 10)]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for number, (wrong, lost, met) in enumerate(pool.map(lambda wait: one_try(victim, wait), waits)):
                part.tell(
                    f"kill -9 of {'parent and worker' if victim == 'both' else 'the ' + victim} at a random instant, then --resume",
                    str(number),
                    wrong,
                    lost,
                )
                hits += met
    print(f"{hits} of {TRIES} kills met a run")
    if hits < TRIES // 4:
        raise SystemExit("BAD  most kills came after the end: nothing was tried")
    part.end()


if __name__ == "__main__":
    main()
