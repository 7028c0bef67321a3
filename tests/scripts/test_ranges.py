"""NVTX ranges round the steps of a call open and close in pairs: told by a profiler of our own, in a program of known ranges and in the
variants of redact, whose kernels run in the emulator."""
import os
import re
import subprocess
import sys
import tempfile

from program import BUILD, EMULATOR, call, expect, rows_of

LISTENER = BUILD / "tests" / "libranges_listener.so"
PROGRAM = BUILD / "tests" / "steps_program"
VARIANTS = "cuda_*"
# In the order of their first openings. Allocations and releases have their own everywhere, so that variants can be compared.
STEPS = {
    "redact/cuda_api_pipeline": ["contains", "allocate", "copy_if_else", "release", "split", "gather", "slice", "concatenate"],
    "redact/cuda_malloc_in_kernel": ["allocate", "redact", "column", "free", "release"],
    "redact/cuda_preallocated": ["allocate", "redact", "column", "release"],
    "redact/cuda_two_pass": ["allocate", "sizes", "scan", "write", "release"],
    "redact/cuda_two_pass_tiles": ["allocate", "sizes", "write", "release"],
}
REFUSED = ["allocate", "redact", "column", "release"]  # by cuda_preallocated, after a look at the rows


def told(path):
    """One dictionary a process that opened a range."""
    found = []
    for line in open(path) if os.path.exists(path) else []:
        numbers = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", line)}
        found.append({**numbers, "names": line.rstrip("\n").split("names=")[1].split(",")})
    return found


def listening(path):
    return {**os.environ, "NVTX_INJECTION64_PATH": str(LISTENER), "RANGES_FILE": path}


def check_program(folder):
    path = os.path.join(folder, "program")
    done = subprocess.run([PROGRAM], env=listening(path))
    expect(done.returncode == 0 and len(told(path)) == 1, "the program of known ranges ran under the listener")
    expect(told(path)[0] == {"opened": 5, "closed": 5, "left_open": 0, "unopened": 0, "deepest": 2, "foreign": 0,
                             "names": ["outer", "sizes", "write"]}, f"five ranges, two deep, all closed: {told(path)}")
    path = os.path.join(folder, "unpaired")
    subprocess.run([PROGRAM, "unpaired"], env=listening(path))
    expect(told(path)[0]["unopened"] == 1 and told(path)[0]["closed"] == 6, "a range that is closed without being open is noticed")
    expect(subprocess.run([PROGRAM]).returncode == 0, "without a listener it runs as well")


def check_variants(folder):
    path, rows = os.path.join(folder, "variants"), os.path.join(folder, "rows.jsonl")
    done = call("run", "redact rows=1000", "redact rows=100 input=nospace", "--variants", VARIANTS, "--emulate", "--verify-only", "--no-ceilings", "--out", rows, env=listening(path))
    passed = [row["variant"] for row in rows_of(rows) if row["verdict"] == "pass"]
    expect(set(STEPS) <= set(passed), f"variants of redact pass in the emulator: {passed}", done)
    processes = told(path)
    found = [process["names"] for process in processes]
    for variant, steps in STEPS.items():
        expect(steps in found, f"{variant}: {', '.join(steps)}; {found}")
    expect(REFUSED in found, f"a call that ends early: {', '.join(REFUSED)}; {found}")
    for process in processes:
        expect(process["opened"] > 0 and process["opened"] == process["closed"] and process["left_open"] == 0 and process["unopened"] == 0,
               f"{process['opened']} ranges, all closed: {', '.join(process['names'])}")
        expect("allocate" in process["names"], f"allocations among them: {', '.join(process['names'])}")
    expect(len(processes) >= len(passed), f"every variant that passed has ranges: {len(processes)} processes told of some, {len(passed)} passed")


def has_redact():
    return "redact/cuda_" in call("list", "variants").stdout


def main():
    if not LISTENER.exists():
        print("skipped: NVTX's headers are not installed, so that the listener was not built")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        check_program(folder)
        if EMULATOR and has_redact():
            check_variants(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
