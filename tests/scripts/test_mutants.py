"""Every mutant must be rejected for the right reason, and a right variant must pass: the harness's own test."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from program import MUTANTS, RELEASE, SANITIZED, SOURCE

CASE = "double n=100003 input=normal dtype=f64"

# name -> verdict, what its reason must say, and whether it needs a GPU
EXPECTED = {
    "cpu_right": ("pass", None),
    "cpu_does_nothing": ("fail", r"never written|unwritten|not written"),
    "cpu_zeros": ("fail", r"is 0x0p\+0"),
    "cpu_nan": ("fail", r"nan"),
    "cpu_drops_tail": ("fail", r"never written|unwritten|not written"),
    "cpu_off_by_one": ("fail", r"0x1?"),
    "cpu_overruns": ("fail", r"guard|past the end|after"),
    "cpu_underruns": ("fail", r"guard|before"),
    "cpu_clobbers_input": ("fail", r"'?x'?.*(changed|input)|input.*x"),
    "cpu_stale": ("fail", r"on new data"),
    "cpu_wrong_later": ("fail", r"on new data"),
    "cpu_wrong_rounding": ("fail", r"0x1?"),
    "cpu_crashes": ("error", r"signal 11"),
    "cpu_exits": ("error", r"exit code 3"),
    "cpu_hangs": ("error", r"timed out"),
    "cpu_leaks": ("fail", r"leaks memory"),
    "cpu_eats_memory": ("error", r"limit of .* memory"),
}
TIMED_ONLY = {  # only times give them away
    "cpu_slow_clock": ("fail", r"faster than the hardware: (cold|hot) .* s, but to read 800024 bytes and write 800024 takes this device .* s at best"),
}
ON_GPU = {
    "cuda_other_stream": ("fail", r"another stream"),
    "cuda_illegal_address": ("error", r"illegal memory access|cudaErrorIllegalAddress"),
    "cuda_hangs": ("error", r"timed out"),
    "cuda_overruns": ("fail", r"guard|past the end|after"),
    "cuda_leaks": ("fail", r"leaks memory"),
}
# Without a GPU their kernels run in the emulator, which stops at the fault. It runs a variant once, so a leak from call to call is not
# seen there.
IN_EMULATOR = {
    "cuda_other_stream": ("fail", r"stream"),
    "cuda_illegal_address": ("error", r"out of bounds"),
    "cuda_hangs": ("error", r"timed out"),
    "cuda_overruns": ("error", r"out of bounds"),
}


def has_gpu():
    return subprocess.run([MUTANTS, "doctor"], capture_output=True, text=True).stdout.find("\nok  gpu") >= 0


def main():
    expected = {**EXPECTED, **(TIMED_ONLY if RELEASE else {})}
    if SANITIZED:
        expected["cpu_crashes"] = ("error", r"null pointer")
        del expected["cpu_leaks"]
    if has_gpu():
        expected.update(ON_GPU)
    elif (MUTANTS.parent / "rungs-emulator").exists():
        expected.update(IN_EMULATOR)
    shipped = {p.stem for p in (SOURCE / "tests/mutants/double").iterdir()}
    unjudged = shipped - set(EXPECTED) - set(TIMED_ONLY) - set(ON_GPU)
    assert not unjudged, f"mutants without an expectation: {unjudged}"
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "rows.jsonl"
        globs = ",".join(sorted(expected))
        done = subprocess.run([MUTANTS, "run", CASE, "--variants", globs, "--quick", "--timeout", "5s", "--memory-limit", "1G", "--out", out],
                              capture_output=True, text=True)
        assert done.returncode == 1, f"exit code {done.returncode}, 1 was expected\n{done.stdout}{done.stderr}"
        rows = {r["variant"].split("/")[1]: r for r in map(json.loads, out.open()) if r["kind"] == "row"}
    wrong = 0
    for name, (verdict, pattern) in sorted(expected.items()):
        row = rows.get(name)
        reason = (row or {}).get("reason") or ""
        good = row is not None and row["verdict"] == verdict and (pattern is None or re.search(pattern, reason, re.I | re.S))
        if verdict != "pass":
            good = good and row["timing"] is None  # a rejected variant has no time
        elif good and not RELEASE:
            good = row["timing"] is None and re.search("build is never timed", row["why_not_timed"])
        elif good:
            good = row["timing"]["cold"]["count"] > 0 and row["reverified"] is True
        wrong += not good
        print(f"{'ok  ' if good else 'BAD '} {name}: {row and row['verdict']}: {reason.splitlines()[0] if reason else ''}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
