"""NVTX ranges round cases, samples, calls and the steps of a call open and close in pairs: told by a profiler of our own, in a program of known
ranges, in timed CPU variants and libraries, and in the variants of redact, whose kernels run in the emulator. Without a profiler NVTX is not
called at all."""

import os
import re
import subprocess

import pytest

from program import BUILD, call, expect, needs_emulator, needs_release, rows_of

LISTENER = BUILD / "tests" / "libranges_listener.so"
pytestmark = pytest.mark.skipif(not LISTENER.exists(), reason="NVTX's headers were not there to build the listener")
PROGRAM = BUILD / "tests" / "steps_program"
COUNTED = BUILD / "tests" / "ranges_counted"
# In the order of their first openings. Allocations and releases have their own everywhere, so that variants can be compared.
STEPS = {
    "redact/cuda_api_pipeline": [
        "contains",
        "allocate",
        "copy_if_else",
        "release",
        "split",
        "gather",
        "slice",
        "concatenate",
    ],
    "redact/cuda_malloc_in_kernel": ["allocate", "redact", "column", "free", "release"],
    "redact/cuda_preallocated": ["allocate", "redact", "column", "release"],
    "redact/cuda_two_pass": ["allocate", "sizes", "scan", "write", "release"],
    "redact/cuda_two_pass_tiles": ["allocate", "sizes", "write", "release"],
}
REFUSED = ["allocate", "redact", "column", "release"]  # by cuda_preallocated, after a look at the rows


def told(path):
    """One dictionary a process that opened a range."""
    found = []
    for line in (own.read_text() for own in path.parent.glob(f"{path.name}.*")):
        numbers = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", line.split(" names=")[0])}
        times = {
            name: int(count)
            for name, count in (item.rsplit("*", 1) for item in line.rstrip("\n").split(" names=")[1].split(","))
        }
        found.append({**numbers, "names": list(times), "times": times})
    return found


def listening(path):
    return {**os.environ, "NVTX_INJECTION64_PATH": str(LISTENER), "RANGES_FILE": str(path)}


def test_ranges_of_a_program_that_is_known(folder):
    path = folder / "program"
    done = subprocess.run([PROGRAM], env=listening(path))
    expect(done.returncode == 0 and len(told(path)) == 1, "the program of known ranges ran under the listener")
    expect(
        told(path)[0]
        == {
            "domains": 1,
            "opened": 5,
            "closed": 5,
            "left_open": 0,
            "unopened": 0,
            "deepest": 2,
            "foreign": 0,
            "names": ["outer", "sizes", "write"],
            "times": {"outer": 2, "sizes": 2, "write": 1},
        },
        f"five ranges, two deep, all closed: {told(path)}",
    )
    expect(subprocess.run([PROGRAM]).returncode == 0, "without a listener it runs as well")


def test_a_range_that_is_closed_without_being_open_is_noticed(folder):
    path = folder / "unpaired"
    subprocess.run([PROGRAM, "unpaired"], env=listening(path))
    assert told(path)[0]["unopened"] == 1 and told(path)[0]["closed"] == 6


@pytest.mark.parametrize(
    "tool, calls",
    [
        ({"COUNTED_TOOL": "1"}, "domains=0 pushes=0 pops=0"),  # none makes itself known: NVTX is not called
        ({"NVTX_INJECTION64_PATH": "none"}, "domains=1 pushes=0 pops=0"),  # one that does not answer is asked once
        ({"NVTX_INJECTION64_PATH": "here", "COUNTED_TOOL": "1"}, "domains=1 pushes=1000 pops=1000"),
    ],
    ids=["no tool", "no answer", "a tool"],
)
def test_what_ranges_cost(tool, calls):
    """Counted in an NVTX of our own."""
    plain = {key: value for key, value in os.environ.items() if key != "NVTX_INJECTION64_PATH"}
    done = subprocess.run([COUNTED], env=plain | tool, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == calls


# peer_pandas is compensated: within the bound of the op, whatever data a set has
@needs_release
@pytest.mark.parametrize("variant", ["double/cpu_loop", "rolling/peer_pandas"])
def test_a_timed_row_has_ranges(folder, worker_folder, variant):
    """The case, every call, every sample of every mode, by name."""
    path, out = worker_folder / "ranges", folder / "rows.jsonl"
    case = (
        "double n=1000 dtype=f64 input=uniform seed=1" if variant.startswith("double") else "rolling n=1000 window=30"
    )
    done = call("run", case, "--variants", variant, "--quick", "--no-ceilings", "--out", out, env=listening(path))
    row = rows_of(out)[0]
    if row["verdict"] == "skip":
        pytest.skip(row["reason"])
    expect(row["verdict"] == "pass" and len(told(path)) == 1, f"{variant}: one process has ranges", done)
    seen = told(path)[0]
    expect(
        seen["names"][0] == row["case"] and seen["times"][row["case"]] == 1, f"the case comes first: {seen['names']}"
    )
    expect(
        seen["opened"] == seen["closed"] and seen["unopened"] == 0 and seen["deepest"] == 3,
        f"closed, 3 deep: {seen}",
    )
    for mode in ("cold", "hot"):
        count = row["timing"][mode]["count"] - (row["timing"][mode]["samples"][0] > 0.1)
        expect(
            seen["times"].get(f"sample {mode}") == count and seen["times"].get(f"pilot {mode}", 0) > 0,
            f"a range for each of {count} samples {mode}",
        )
    calls = sum(row["timing"][mode]["count"] * row["timing"][mode]["calls_per_sample"] for mode in ("cold", "hot"))
    least = calls * 2 // 3  # a sample may have up to a third fewer
    expect(seen["times"][f"call {variant}"] > least, f"a range for each of {least} timed calls and for the others")


@needs_emulator
def test_steps_of_the_variants_of_redact(folder, worker_folder):
    if "redact/cuda_" not in call("list", "variants").stdout:
        pytest.skip("this build has no CUDA variants of redact")
    path, rows = worker_folder / "ranges", folder / "rows.jsonl"
    done = call(
        "run",
        "redact rows=1000",
        "redact rows=100 input=nospace",
        "--variants",
        "cuda_*",
        "--emulate",
        "--verify-only",
        "--no-ceilings",
        "--out",
        rows,
        env=listening(path),
    )
    passed = [row["variant"] for row in rows_of(rows) if row["verdict"] == "pass"]
    expect(set(STEPS) <= set(passed), f"variants of redact pass in the emulator: {passed}", done)
    processes = told(path)
    found = [[name for name in process["names"] if not name.startswith(("redact ", "call "))] for process in processes]
    for variant, steps in STEPS.items():
        expect(steps in found, f"{variant}: {', '.join(steps)}; {found}")
    expect(REFUSED in found, f"a call that ends early: {', '.join(REFUSED)}; {found}")
    for process in processes:
        expect(
            process["domains"] == 1
            and process["opened"] > 0
            and process["opened"] == process["closed"]
            and process["left_open"] == 0
            and process["unopened"] == 0,
            f"{process['opened']} ranges, all closed: {', '.join(process['names'])}",
        )
        called = any(name.startswith("call ") for name in process["names"])
        expect(
            process["names"][0].startswith("redact ") and called == ("allocate" in process["names"]),
            f"a case, calls and allocations in them: {', '.join(process['names'])}",
        )
    expect(
        len(processes) >= len(passed),
        f"every variant that passed has ranges: {len(processes)} processes told of some, {len(passed)} passed",
    )
