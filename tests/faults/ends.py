"""Verbs that are ended in the middle, by every signal and without warning: no process of theirs goes on, no file of theirs is left, not even after the next run;
what they were to write is as it was, or whole.

The instants come from a fixed seed, and are spread over what one undisturbed call takes."""

import concurrent.futures
import json
import os
import random
import shutil
import signal
import subprocess
import time

from faults import BUILD, FULL, HOSTILE, RUNGS, SOURCE, Part, Sandbox

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
LONG = {"ab": 8, "ab --base": 3}  # `ab` runs 18 processes, and a commit is built without end
TRIES = 40 if FULL else 4
VERBS = (
    "report",
    "export",
    "exec",
    "run of a function",
    "run of a variant that leaves a daemon",
    "ab",
    "ab --base",
    "reproduce",
)
ROWS = SOURCE / "tests/golden/rows.jsonl"
CASE = "double n=1003 input=normal dtype=f64"
FUNCTION = SOURCE / "examples/apply/first_minus_last.cu"


def build_a_commit(sandbox):
    """`ab --base` in a repository of its own, with a cmake that starts more and never ends: building is all that there is to end."""
    project, programs = sandbox.folder / "project", sandbox.folder / "programs"
    for folder in (project, programs, sandbox.folder / "build"):
        folder.mkdir()
    git = ["git", "-C", str(project), "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    (project / "file").write_text("x")
    for words in (["init", "-q"], ["add", "file"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], check=True)
    (programs / "cmake").write_text("#!/bin/sh\nsetsid sleep 600 &\nsleep 600\n")
    (programs / "cmake").chmod(0o755)
    shutil.copy2(RUNGS, sandbox.folder / "build/rungs")
    places = (BUILD / "rungs-places").read_text().replace(f"project {SOURCE}\n", f"project {project}\n")
    (sandbox.folder / "build/rungs-places").write_text(places)
    (sandbox.folder / "build/CMakeCache.txt").write_text("")
    return sandbox.folder / "build/rungs", {"PATH": f"{programs}:{os.environ['PATH']}"}


def words_of(verb, sandbox):
    """The program, its words, and more of its environment."""
    out = sandbox.folder / "out"
    if verb == "ab --base":
        program, environment = build_a_commit(sandbox)
        return program, ["ab", "--base", "HEAD", CASE], environment
    return {
        "report": (RUNGS, ["report", ROWS, "--out", out / "REPORT.md", "--html", out / "report.html"], {}),
        "export": (RUNGS, ["export", "csv", ROWS, "--out", out / "rows.csv"], {}),
        "exec": (
            RUNGS,
            [
                "exec",
                "redact/cpu_best",
                "--in",
                f"names={sandbox.folder}/names.csv:name",
                "--in",
                f"visibilities={sandbox.folder}/names.csv:visible",
                "--out",
                f"redacted={out}/out.arrow",
            ],
            {},
        ),
        "run of a function": (
            RUNGS,
            [
                "run",
                f"rolling agg=apply function={FUNCTION} n=1000 window=3",
                "--variants",
                "cpu_apply",
                "--verify-only",
                "--out",
                out / "rows.jsonl",
            ],
            {},
        ),
        "run of a variant that leaves a daemon": (
            HOSTILE,
            [
                "run",
                CASE,
                "--variants",
                "cpu_hostile at=run how=leave_and_hang",
                "--verify-only",
                "--timeout",
                "3s",
                "--out",
                out / "rows.jsonl",
            ],
            {},
        ),
        "ab": (
            RUNGS,
            ["ab", HOSTILE, HOSTILE, CASE, "--variants", "cpu_right", "--quick", "--second-stage", "0s", "--out", out],
            {},
        ),
        "reproduce": (RUNGS, ["reproduce", CASE, "--quick", "--out", out / "reproduce"], {}),
    }[verb]


def prepare(sandbox):
    (sandbox.folder / "out").mkdir()
    (sandbox.folder / "names.csv").write_text(
        "name,visible\n" + "".join(f"Somebody {i},{i % 2}\n" for i in range(2000))
    )


def length(verb):
    """Seconds of one undisturbed call, or so long that all kinds of work have begun."""
    if verb in LONG:
        return LONG[verb]
    with Sandbox() as sandbox:
        prepare(sandbox)
        program, words, environment = words_of(verb, sandbox)
        begin = time.monotonic()
        code, _, said = sandbox.call(program, *words, environment=environment, seconds=200)
        if code not in (0, 1, 3):
            raise SystemExit(f"BAD  an undisturbed {verb} ended with {code}: {said}")
        return time.monotonic() - begin


def damaged(sandbox):
    """What is there of outputs must be whole: rows may end within a line, which --resume drops."""
    words = [f"{path} is left" for path in (sandbox.folder / "build/ab").glob("*") if path.name != "builds"]
    for path in sorted((sandbox.folder / "out").rglob("*")):
        if path.name.startswith((".rungs", "judged", "check", "rungs-")):
            words.append(f"{path.name} is left")
        if path.name == "out.arrow" and not path.read_bytes().endswith(b"ARROW1"):
            words.append("out.arrow is cut off")
        if path.name == "REPORT.md" and not path.read_text().endswith("\n"):
            words.append("REPORT.md is cut off")
        if path.suffix == ".jsonl":
            for line in path.read_text().splitlines(keepends=True):
                if line.endswith("\n"):
                    json.loads(line)
    return "; ".join(words)


def one_end(verb, number, wait):
    """Words for what is wrong, what was left until the next run, and whether the signal met a call."""
    with Sandbox() as sandbox:
        prepare(sandbox)
        program, words, environment = words_of(verb, sandbox)
        process = sandbox.start(program, *words, environment=environment)
        time.sleep(wait)
        met = process.poll() is None
        if met:
            process.send_signal(number)
        try:
            process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            return "no end within 60 s", "", met
        left = sandbox.left_behind()
        if "survives" in left:
            return left, left, met
        if left:  # a folder for a compiler, where the signal met the moment after it was made
            code, _, said = sandbox.call(
                RUNGS,
                "run",
                f"rolling agg=apply function={FUNCTION} n=100 window=3",
                "--variants",
                "cpu_apply",
                "--verify-only",
                "--out",
                "/dev/null",
            )
            if code != 0:
                return f"the next run ended with {code}: {said}", left, met
        return sandbox.left_behind() or damaged(sandbox), left, met


def main():
    part, source = Part("ends"), random.Random(51)
    for verb in VERBS:
        seconds, met, later = length(verb), 0, 0
        waits = [source.uniform(0.02, 0.95) * seconds for _ in range(TRIES)]
        with concurrent.futures.ThreadPoolExecutor(
            1 if verb == "ab --base" else os.cpu_count()
        ) as pool:  # it starts a program that it has just copied
            tried = pool.map(
                lambda k, verb=verb, waits=waits: one_end(verb, SIGNALS[k % len(SIGNALS)], waits[k]), range(TRIES)
            )
            for k, (wrong, left, hit) in enumerate(tried):
                part.tell(
                    f"{verb}, ended by a signal at a random instant",
                    f"{SIGNALS[k % len(SIGNALS)].name} after {waits[k]:.2f} s",
                    wrong,
                )
                met, later = met + hit, later + bool(left)
        print(
            f"{verb}: {met} of {TRIES} signals met a call of {seconds:.1f} s; something was left until the next run in {later}",
            flush=True,
        )
        if met < TRIES // 4:
            raise SystemExit(f"BAD  {verb}: most signals came after the end: nothing was tried")
    part.end()


if __name__ == "__main__":
    main()
