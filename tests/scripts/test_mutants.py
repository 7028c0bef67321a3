"""Every mutant must be rejected for the right reason, and a right variant must pass: the harness's own test."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

from program import MUTANTS, RELEASE, SANITIZED, SOURCE

CASE = "double n=100003 input=normal dtype=f64"

LATER = r"in timing, cold sample \d+|on the second data set"  # which is all that a build that is not timed runs
# Right, but quick where they were seen before or find no poison: their cold samples that are not compared take these seconds at least.
AT_LEAST = {"cpu_replay_content": 2e-3, "cpu_slow_on_poison": 2e-3}

# name -> verdict, what its reason must say, and whether it needs a GPU
EXPECTED = {
    "cpu_right": ("pass", None),
    "cpu_teams_control": ("pass", None),
    "cpu_records_control": ("pass", None),
    "peer_records_control": ("pass", None),
    "cpu_frees_elsewhere_control": ("pass", None),
    "cpu_does_nothing": ("fail", r"never written|unwritten|not written"),
    "cpu_zeros": ("fail", r"is 0x0p\+0"),
    "cpu_nan": ("fail", r"nan"),
    "cpu_drops_tail": ("fail", r"never written|unwritten|not written"),
    "cpu_off_by_one": ("fail", r"0x1?"),
    "cpu_overruns": ("fail", r"guard|past the end|after"),
    "cpu_underruns": ("fail", r"guard|before"),
    "cpu_leaps": ("error", r"past the end of y"),
    "cpu_clobbers_input": ("error", r"wrote to input x"),
    "cpu_stale": ("fail", LATER),
    "cpu_wrong_later": ("fail", LATER),
    "cpu_garbage_later": ("fail", LATER),
    "cpu_batch_and_skip": ("fail", LATER),
    "cpu_memo_three": ("fail", rf"{LATER}.*data set 2"),
    "cpu_memo_sample": ("fail", rf"{LATER}.*data set 2"),
    "cpu_replay_pointer": ("fail", LATER),
    "cpu_poison_skips": ("fail", r"in timing, hot sample \d+"),
    "cpu_ready_flags": ("fail", LATER),
    "cpu_detached_thread": ("fail", r"never written|run\(\) (had )?returned"),
    "cpu_half_later": ("fail", r"never written|run\(\) (had )?returned"),
    "cpu_busy_later": ("fail", r"1 thread is still busy"),
    "cpu_again_later": ("fail", r"run\(\) (had )?returned"),
    "peer_right": ("pass", None),
    "peer_last_result": ("fail", LATER),
    "peer_result_by_address": ("fail", r"in timing, cold sample \d+"),
    "peer_lazy": ("fail", r"in timing, cold sample \d+.*nan"),
    "cpu_replay_content": ("pass", None),
    "cpu_slow_on_poison": ("pass", None),
    "cpu_wrong_rounding": ("fail", r"0x1?"),
    "cpu_crashes": ("error", r"signal 11"),
    "cpu_exits": ("error", r"exit code 3"),
    "cpu_hangs": ("error", r"timed out"),
    "cpu_strange_status": ("error", r"returned 77, which is no Status"),
    "cpu_leaks": ("fail", r"leaks memory"),
    "cpu_eats_memory": ("error", r"limit of .* memory"),
    "cpu_aborts_when_asked": ("error", r"^supports\(\): crashed: signal 6"),
}
TIMED_ONLY = {  # only times give them away
    "cpu_slow_clock": (
        "fail",
        r"faster than the hardware: (cold|hot) .* s, but this device needs at least .* s to read 800024 and write 800024 bytes",
    ),
}
ON_GPU = {
    "cuda_other_stream": ("fail", r"another stream"),
    "cuda_illegal_address": ("error", r"illegal memory access|cudaErrorIllegalAddress"),
    "cuda_hangs": ("error", r"timed out"),
    "cuda_overruns": ("fail", r"guard|past the end|after"),
    "cuda_leaps": ("fail", r"y f64.*written past its end"),
    "cuda_leaks": ("fail", r"leaks memory"),
    "cuda_tail_other_stream": ("fail", r"another stream"),
    "cuda_waits_and_strays": ("fail", r"another stream"),
    "cuda_garbage_later": ("fail", LATER),
    "cuda_ready_flags": ("fail", LATER),
    "cuda_poison_skips": ("fail", r"in timing, hot sample \d+"),
    "cuda_ignores_launch": ("error", r"a launch failed and run\(\) did not report it"),
    "cuda_swallowed_launch": ("error", r"invalid (argument|configuration)"),
}
# Without a GPU their kernels run in the emulator, which stops at the fault. It runs a variant once, so a leak from call to call is not
# seen there.
IN_EMULATOR = {
    "cuda_other_stream": ("fail", r"stream"),
    "cuda_tail_other_stream": ("fail", r"stream"),
    "cuda_waits_and_strays": ("fail", r"stream"),
    "cuda_illegal_address": ("error", r"out of bounds"),
    "cuda_hangs": ("error", r"timed out"),
    "cuda_ignores_launch": ("error", r"a launch failed and run\(\) did not report it"),
    "cuda_overruns": ("error", r"out of bounds"),
    "cuda_leaps": ("error", r"out of bounds"),
}


def has_gpu():
    doctor = subprocess.run([MUTANTS, "doctor"], capture_output=True, text=True)
    assert (
        doctor.returncode == 0
        and "launch       double/cpu_aborts_when_asked: supports(): crashed: signal 6" in doctor.stdout
    ), doctor
    return doctor.stdout.find("\nok  gpu") >= 0


def unseen(mode):
    checked = {check["sample"] for check in mode["checked"]}
    return [seconds for sample, seconds in enumerate(mode["samples"]) if sample not in checked]


def check_second_call(folder):
    """What malloc keeps of released blocks is no leak, in the second call of a process as little as after a thousand."""
    out = pathlib.Path(folder) / "second.jsonl"
    words = ["cpu_frees_elsewhere_control,cpu_leaks", "--verify-only", "--no-ceilings", "--out", out]
    subprocess.run([MUTANTS, "run", CASE, "--variants", *words], capture_output=True, timeout=60)
    told = {row["variant"].split("/")[1]: row["verdict"] for row in map(json.loads, out.open()) if row["kind"] == "row"}
    assert told["cpu_frees_elsewhere_control"] == "pass" and (SANITIZED or told["cpu_leaks"] == "fail"), told


def main():
    expected = {**EXPECTED, **(TIMED_ONLY if RELEASE else {})}
    if SANITIZED:
        expected["cpu_crashes"] = ("error", r"null pointer")
        expected["cpu_clobbers_input"] = ("error", r"wrote to input x|AddressSanitizer")
        del expected["cpu_leaks"]
    if not RELEASE:
        for name in (
            "cpu_memo_three",
            "cpu_memo_sample",
            "cpu_poison_skips",
            "peer_result_by_address",
            "peer_lazy",
        ):  # only timed calls show them
            expected[name] = ("pass", None)
    if has_gpu():
        expected.update(ON_GPU)
    elif (MUTANTS.parent / "rungs-emulator").exists():
        expected.update(IN_EMULATOR)
    shipped = {p.stem for p in (SOURCE / "tests/mutants/double").iterdir() if "cheat" not in p.stem}
    shipped = {name for name in shipped if name.startswith(("cpu_", "cuda_", "peer_"))}
    unjudged = (
        shipped
        - set(EXPECTED)
        - set(TIMED_ONLY)
        - set(ON_GPU)
        - {"cpu_takes_along", "peer_hangs_in_prepare", "cpu_keeps_state"}
    )  # test_isolation.py, test_shared_workers.py
    assert not unjudged, f"mutants without an expectation: {unjudged}"
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "rows.jsonl"
        globs = ",".join(sorted(expected))
        done = subprocess.run(
            [
                MUTANTS,
                "run",
                CASE,
                "--variants",
                globs,
                "--quick",
                "--timeout",
                "5s",
                "--memory-limit",
                "1G",
                "--out",
                out,
            ],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 1, f"exit code {done.returncode}, 1 was expected\n{done.stdout}{done.stderr}"
        rows = {r["variant"].split("/")[1]: r for r in map(json.loads, out.open()) if r["kind"] == "row"}
        check_second_call(folder)
    wrong = 0
    for name, (verdict, pattern) in sorted(expected.items()):
        row = rows.get(name)
        reason = (row or {}).get("reason") or ""
        good = (
            row is not None
            and row["verdict"] == verdict
            and (pattern is None or re.search(pattern, reason, re.I | re.S))
        )
        if verdict != "pass":
            good = good and row["timing"] is None  # a rejected variant has no time
        elif good and not RELEASE:
            good = row["timing"] is None and re.search("build is never timed", row["why_not_timed"])
        elif good:
            cold, hot = row["timing"]["cold"], row["timing"]["hot"]
            good = (
                cold["count"] > 0
                and row["reverified"] is True
                and min(unseen(cold), default=1) >= AT_LEAST.get(name, 0)
            )
            good = (
                good
                and {0, 1} <= {check["set"] for check in cold["checked"]}
                and hot["checked"][-1]["sample"] == hot["count"] - 1
            )
        wrong += not good
        print(
            f"{'ok  ' if good else 'BAD '} {name}: {row and row['verdict']}: {reason.splitlines()[0] if reason else ''}"
        )
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
