"""Every CUDA variant on edge cases in the emulator: memory errors under several orders of the threads, then data races. No variant is left out.

Quick: threads at random with one seed, and races with one seed, each on a quarter of the cases. RUNGS_TEST_FULL=1: on all of them, in
sequence and in reverse too, and ten seeds of each.
"""

import collections
import concurrent.futures
import json
import os

import pytest
from program import FULL, call, expect, needs_emulator, rows_of

pytestmark = needs_emulator
SEEDS = range(1, 11) if FULL else [1]
RUNS = [(emulator, "random", seed) for emulator in ("race", "address") for seed in SEEDS]
RUNS += [("address", order, 1) for order in ("sequential", "reverse")] if FULL else []
EDGES = ["run", "edges", "--verify-only", "--variants", "cuda_*", "--emulate"]


def quarters():
    """For each emulator another quarter of the rows that has some of every variant; which have depends on the scenarios."""
    told = {}
    for part in ("1/4", "2/4", "3/4", "4/4"):
        rows = json.loads(call(*EDGES, "--shard", part, "--dry-run", "--json").stdout)
        told[part] = {row["variant"] for row in rows if not row["skip"]}
    whole = [part for part, variants in told.items() if variants == set().union(*told.values())]
    assert len(whole) >= 2, f"two quarters have rows of every variant: {whole}"
    return {"race": ["--shard", whole[0]], "address": ["--shard", whole[-1]]}


def run(emulator, order, seed, shards, out):
    environment = {**os.environ, "RUNGS_EMULATOR_ORDER": order, "RUNGS_EMULATOR_SEED": str(seed)}
    done = call(*EDGES, "--emulator", emulator, *shards.get(emulator, []), "--out", out, env=environment, timeout=1500)
    return done, rows_of(out)


@pytest.fixture(scope="module")
def futures(shared_folder):
    """All runs, two at a time, in the order of RUNS."""
    shards = {} if FULL else quarters()
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        yield {
            setting: pool.submit(run, *setting, shards, shared_folder / "-".join(map(str, setting))) for setting in RUNS
        }


@pytest.mark.parametrize("setting", RUNS, ids=lambda setting: "-".join(map(str, setting)))
def test_every_cuda_variant_is_right_in_any_order_of_threads(futures, setting):
    done, rows = futures[setting].result()
    listed = json.loads(call("list", "variants", "--json").stdout)
    every = {variant["id"] for variant in listed if variant["backend"] == "cuda"}
    verdicts = collections.Counter(row["verdict"] for row in rows)
    wrong = [
        f"{row['spec']} on {row['case']}: {row['reason']}" for row in rows if row["verdict"] not in ("pass", "skip")
    ]
    passed = [row for row in rows if row["verdict"] == "pass"]
    variants = {row["variant"] for row in passed}
    possible = every - {row["variant"] for row in rows if (row["reason"] or "").startswith("not emulated")}
    expect(possible <= variants, f"every CUDA variant passes on a case (not: {sorted(possible - variants)})", done)
    silent = variants - {row["variant"] for row in passed if (row["launch"] or {}).get("launched_threads")}
    expect(not silent, f"every variant's launches are in its rows (not: {sorted(silent)})", done)
    expect(
        done.returncode == 0
        and not wrong
        and verdicts["pass"] > 100
        and len(variants) >= 10
        and all(row["backend"] == "emulator" and row["timing"] is None for row in rows),
        f"{dict(verdicts)}, {len(variants)} variants" + "".join(f"\n  {line}" for line in wrong[:5]),
        done,
    )
