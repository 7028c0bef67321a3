"""`rungs score` of candidates as programs write them (candidates.py): each bad one costs its own line, and the machine is as it was; with --full 1,000 of them."""

import os
import signal
import subprocess
import time

import candidates
import pytest
from program import BUILD, FULL, RUNGS, SANITIZED, expect, needs_emulator
from test_sandbox import needs_sandbox

pytestmark = pytest.mark.skipif(SANITIZED, reason="its allocator does not tell what is in use")
SHOWN = ("--verify-only", "--emulate", "--timeout", "2s")


@needs_emulator
@needs_sandbox  # what they leave behind ends with it
def test_each_costs_its_own_line(folder, monkeypatch):
    monkeypatch.setenv("RUNGS_BUILD", str(BUILD))
    count = 1000 if FULL else 40
    lines, wrong, seconds = candidates.score_them(RUNGS, folder, count, *SHOWN)
    expect(not wrong, f"{count} candidates in {seconds:.0f} s: {wrong}")
    assert sum(line["verdict"] == "pass" for line in lines) >= count // 2


def test_what_a_killed_score_left_is_swept(folder, monkeypatch):
    monkeypatch.setenv("RUNGS_BUILD", str(BUILD))
    candidate = next(iter(candidates.write(folder, 1, 0)))
    words = [
        RUNGS,
        "score",
        candidate,
        "--op",
        "double",
        "--over",
        "cpu_loop",
        "n=20011",
        "--verify-only",
        "--no-sandbox",
    ]
    candidate.write_text(
        candidate.read_text().replace("for (size_t i", "while (n) *(volatile double *)y = 0;\n    for (size_t i")
    )
    process = subprocess.Popen([*words, "--timeout", "60s"], stdout=subprocess.DEVNULL, cwd=folder)
    left = BUILD / "tried"
    until = time.monotonic() + 60
    while not list(left.glob(f"score-{process.pid}-*/double/*.so")) and time.monotonic() < until:
        time.sleep(0.05)
    assert list(left.glob(f"score-{process.pid}-*"))
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    candidate.write_text(candidate.read_text().replace("while (n)", "if (!n)"))
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    expect(done.stdout.startswith("pass") and not list(left.glob(f"score-{process.pid}-*")), "swept", done)
