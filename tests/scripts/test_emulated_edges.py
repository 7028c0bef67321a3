"""Every CUDA variant on edge cases in the emulator: memory errors under several orders of the threads, then data races. No variant is left out.

Quick: threads at random with one seed, and races with one seed, each on a quarter of the cases. RUNGS_TEST_FULL=1: on all of them, in
sequence and in reverse too, and ten seeds of each.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import tempfile

from program import BUILD, call, expect, rows_of

FULL = bool(os.environ.get("RUNGS_TEST_FULL"))
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
    expect(len(whole) >= 2, f"two quarters have rows of every variant: {whole}")
    return {"race": ["--shard", whole[0]], "address": ["--shard", whole[-1]]}


def run(setting, shards):
    emulator, order, seed = setting
    environment = {**os.environ, "RUNGS_EMULATOR_ORDER": order, "RUNGS_EMULATOR_SEED": str(seed)}
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "rows.jsonl"
        done = call(
            *EDGES, "--emulator", emulator, *shards.get(emulator, []), "--out", out, env=environment, timeout=1500
        )
        return setting, done, rows_of(out)


def main():
    if not (BUILD / "bin/rungs-emulator").exists():
        print("skipped: built without the emulator")
        raise SystemExit(77)
    listed = json.loads(call("list", "variants", "--json").stdout)
    every = {variant["id"] for variant in listed if variant["backend"] == "cuda"}
    shards = {} if FULL else quarters()
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        for setting, done, rows in pool.map(lambda setting: run(setting, shards), RUNS):
            verdicts = collections.Counter(row["verdict"] for row in rows)
            wrong = [
                f"{row['spec']} on {row['case']}: {row['reason']}"
                for row in rows
                if row["verdict"] not in ("pass", "skip")
            ]
            variants = {row["variant"] for row in rows if row["verdict"] == "pass"}
            possible = every - {row["variant"] for row in rows if (row["reason"] or "").startswith("not emulated")}
            expect(
                possible <= variants,
                f"{setting[0]}: every CUDA variant passes on a case (not: {sorted(possible - variants)})",
                done,
            )
            silent = variants - {
                row["variant"]
                for row in rows
                if row["verdict"] == "pass" and (row["launch"] or {}).get("launched_threads")
            }
            expect(not silent, f"every variant's launches are in its rows (not: {sorted(silent)})", done)
            expect(
                done.returncode == 0
                and not wrong
                and verdicts["pass"] > 100
                and len(variants) >= 10
                and all(row["backend"] == "emulator" and row["timing"] is None for row in rows),
                f"{' '.join(map(str, setting))}: {dict(verdicts)}, {len(variants)} variants"
                + "".join(f"\n  {line}" for line in wrong[:5]),
                done,
            )


if __name__ == "__main__":
    main()
