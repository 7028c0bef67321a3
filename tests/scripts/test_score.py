"""`rungs score`: candidates that are right, wrong, slow to end, crash, leak or do not compile cost a line each; a kill and --resume loses none."""

import json
import os
import signal
import subprocess
import time

import pytest

from program import RUNGS, SOURCE, call, expect, expect_error

GOOD = """#include "variant.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];
    return STATUS_OK;
}

RUNGS_VARIANT(double, try_NAME) = {.backend = BACKEND_CPU, .summary = "a candidate", .origin = "a test", .run = run};
"""
LOOP = "for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];"
CHANGES = {
    "good": (LOOP, LOOP),
    "wrong": ("2 * x[i]", "2 * x[i] + (i == 7)"),
    "crashes": (LOOP, "*(volatile int *)(unsigned long)n = (int)(x[0] + y[0]);"),
    "hangs": (LOOP, "while (n) *(volatile double *)y = *x;"),
    "typo": ("double *y", "dubble *y"),
    "leaks": (LOOP, LOOP + " (void)!malloc(64 << 20);"),
}
SHOWN = ("--op", "double", "--over", "cpu_loop", "n=20011", "--no-sandbox", "--quick", "--timeout", "2s", "--json")


@pytest.fixture
def files(folder):
    for name, change in CHANGES.items():
        text = GOOD.replace("NAME", name).replace(*change)
        (folder / f"{name}.c").write_text(text.replace('"variant.h"\n', '"variant.h"\n#include <stdlib.h>\n', 1))
    return [folder / f"{name}.c" for name in CHANGES]


def score(*words, **how):
    done = call("score", *words, *SHOWN, **how)
    return done, [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def test_each_candidate_has_its_line(folder, files):
    before = set(os.listdir("/tmp"))
    done, lines = score(*files)
    expect(done.returncode == 0 and len(lines) == len(files), "a line each", done)
    found = dict(zip(CHANGES, lines))
    expect(found["good"]["verdict"] == "pass", "the right one passes", done)
    case = found["good"]["cases"][0]
    assert case["times"]["hot"]["median"] > 0 and case["case"].startswith("double n=20011")
    assert case["times"]["hot"]["clock"] == "the worker's own" and "clock" in found["good"]["why_no_speedup"]  # --quick
    assert found["good"]["sandboxed"] is False
    said = {
        "wrong": ("fail", "y[7] is"),
        "crashes": ("error", "signal 11"),
        "hangs": ("error", "timed out"),
        "typo": ("error", "dubble"),
    }
    for name, (verdict, words) in said.items():
        assert found[name]["verdict"] == verdict and words in found[name]["reason"], found[name]
        assert found[name]["speedup"] is None
    assert found["leaks"]["verdict"] != "pass" or found["leaks"]["cases"]
    assert not [name for name in set(os.listdir("/tmp")) - before if name.startswith("rungs-score")]


def test_speedups_are_of_checked_clocks(monkeypatch):
    monkeypatch.syspath_prepend(SOURCE / "harness/cli")
    import score

    def row(median, checked):
        times = {
            "median": median,
            "low": 0.9 * median,
            "high": 1.1 * median,
            "limit": {"share": 0.5},
            "clock_checked": checked,
        }
        return {"timing": {"cold": times, "hot": times}}

    own, base = score.times_of(row(2.0, True)), score.times_of(row(6.0, True))
    assert score.compared(own, base) == {
        "hot": {"speedup": 3.0, "low": pytest.approx(27 / 11), "high": pytest.approx(11 / 3)}
    }
    assert score.compared(own, score.times_of(row(6.0, False))) == {}
    twice = [{"over": score.compared(own, base)}, {"over": score.compared(base, base)}]
    assert score.overall(twice)["speedup"] == pytest.approx(3**0.5) and score.overall([*twice, {"over": {}}]) is None


def test_a_kill_and_resume_loses_none(folder, files):
    out = folder / "scores.jsonl"
    many = []
    for i in range(6):
        many.append(folder / f"good{i}.c")
        many[-1].write_text(GOOD.replace("NAME", f"good{i}"))
    process = subprocess.Popen([RUNGS, "score", *many, *SHOWN, "--out", out], stdout=subprocess.DEVNULL, cwd=folder)
    until = time.monotonic() + 120
    while (not out.exists() or out.read_bytes().count(b"\n") < 2) and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with out.open("ab") as file:
        file.write(b'{"kind": "sco')  # as a kill leaves it
    first = [json.loads(line)["file"] for line in out.read_bytes().split(b"\n")[:-1]]
    assert 2 <= len(first) < 6
    expect_error(call("score", *many, *SHOWN, "--out", out), 2, "--resume goes on")
    done, lines = score(*many, "--out", out, "--resume")
    kept = [json.loads(line)["file"] for line in out.read_text().splitlines()]
    expect(kept == list(map(str, many)) and len(lines) == 6 - len(first), "each once, in order", done)
    many[3].write_text(many[3].read_text().replace("2 * x", "3 * x"))
    done, lines = score(*many, "--out", out, "--resume")
    expect([(line["file"], line["verdict"]) for line in lines] == [(str(many[3]), "fail")], "a changed file anew", done)


def test_what_is_wrong_with_the_words(folder, files):
    expect_error(call("score", "--op", "double", "--over", "cpu_loop"), 2, "no file is named")
    expect_error(call("score", files[0]), 2, "--op NAME and --over VARIANT")
    expect_error(call("score", files[0], "--op", "dubble", "--over", "cpu_loop"), 2, "did you mean 'double'?")
    expect_error(call("score", folder / "none.c", *SHOWN), 2, "none.c: No such file")
    expect_error(call("score", files[0], *SHOWN, "--resume"), 2, "--resume", "--out")
    expect_error(
        call("score", files[0], "--op", "double", "--over", "cpu_lop"), 2, "--over", "did you mean 'double/cpu_loop'?"
    )
