"""Writes invented results of an op on columns of strings, for tests and for looking at figures: never measured, never to be put into results/.

make_columns.py > rows.jsonl     redact at the published sizes, with counts
"""

import json
import random
import sys

from make_rows import ceilings, environment, mode, no_mode

RUN = "20260102T030405Z-00000003"
SIZES = (600_000, 1_000_000, 2_000_000, 5_000_000, 6_000_000, 8_000_000, 10_000_000, 20_000_000, 50_000_000)
BYTES_PER_ROW = 37.7
# variant: (microseconds of a call, of an allocation by cudaMalloc, of a million rows), allocations, launches, bytes over minimum, peak bytes a row
VARIANTS = {
    "cuda_api_pipeline": ((150, 52, 220), 21, 27, 9.4, 63),
    "cuda_preallocated": ((45, 30, 40), 5, 3, 3.6, 32),
    "cuda_two_pass": ((30, 35, 22), 3, 3, 1.6, 11),
    "cuda_malloc_in_kernel": ((100, 40, 270_000), 5, 4, 29, 23),
}
MEMORY = {"cuda": 1.0, "pool": 0.05, "arena": 0.0}  # cost of an allocation, of cudaMalloc's


def seconds_of(variant, memory, rows):
    (call, allocation, million), allocations = VARIANTS[variant][:2]
    return 1e-6 * (call + MEMORY[memory] * allocation * allocations * (1 + rows / 2e7) + million * rows / 1e6)


def counts_of(variant, memory, rows):
    _, allocations, launches, over, peak = VARIANTS[variant]
    bytes_moved = over * BYTES_PER_ROW * rows
    return {
        "allocations": allocations,
        "peak_bytes": peak * rows,
        "resource": memory,
        "launches": launches,
        "copies": 1,
        "fills": 0,
        "kernel_seconds": 1e-4,
        "kernels": [],
        "registers": 32,
        "occupancy": 1.0,
        "bytes_read": 0.55 * bytes_moved,
        "bytes_written": 0.45 * bytes_moved,
        "bytes_written_behind": 1e6,
        "seconds": 0.6,
    }


def row(rng, variant, memory, rows):
    tunables = {"memory": memory} | ({"heap_mib": 0} if "malloc" in variant else {})
    params = {
        "rows": rows,
        "nulls": "none",
        "slice": "none",
        "names_bytes": 0,
        "visibilities_bytes": 0,
        "redacted_bytes": 0,
    }
    case = "redact " + " ".join(f"{key}={value}" for key, value in params.items()) + " dtype=i32 input=names seed=1"
    exact = {"count": rows + 1, "expected_count": rows + 1, "mismatches": 0, "unwritten": 0, "first_mismatch": None}
    times = {
        "cold": mode(rng, seconds_of(variant, memory, rows)),
        "hot": mode(rng, 0.97 * seconds_of(variant, memory, rows)),
        "graph": no_mode("no CUDA graph: the call allocates memory"),
        "enqueue": no_mode("not asked for"),
        "first": no_mode("not asked for"),
    }
    oracle = "api" if "api" in variant else "exact"
    return {
        "kind": "row",
        "schema": 1,
        "run": RUN,
        "scenario": "published/redact",
        "case": case,
        "op": "redact",
        "params": params,
        "dtype": "i32",
        "input": "names",
        "seed": 1,
        "variant": "redact/" + variant,
        "tunables": tunables,
        "spec": " ".join(["redact/" + variant] + [f"{k}={v}" for k, v in tunables.items()]),
        "backend": "cuda",
        "verdict": "pass",
        "reason": None,
        "bound": {"name": oracle, "formula": "equal to the byte", "declared": oracle == "api"},
        "errors": {"redacted.offsets": exact},
        "reverified": True,
        "work": {"bytes": BYTES_PER_ROW * rows, "flops": 0.0},
        "timing": times,
        "why_not_timed": None,
        "prepare_seconds": None,
        "counts": counts_of(variant, memory, rows),
        "counts_reason": None,
        "baseline": "redact/cuda_api_pipeline",
        "seconds_spent": 1.5,
    }


def main():
    rng = random.Random(5)
    lines = [environment(RUN, True), ceilings(RUN, "cuda")]
    for rows in SIZES:
        for variant in VARIANTS:
            for memory in MEMORY if "two_pass" in variant else ("cuda", "pool"):
                if "malloc" not in variant or (memory == "cuda" and rows <= 5_000_000):
                    lines.append(row(rng, variant, memory, rows))
    for line in lines:
        sys.stdout.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
