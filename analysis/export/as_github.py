"""customSmallerIsBetter of github-action-benchmark: name, unit, value; range and extra are for people. The latest row of each."""
import json

from analysis.export.entries import NANO


def write(source):
    benches = [bench(entry) for entry in source.one_machine(source.latest.rows)]
    return json.dumps(benches, indent=1, allow_nan=False, ensure_ascii=False) + "\n", len(benches)


def bench(entry):
    times = entry.times
    told = {"name": entry.name, "unit": "ns", "value": times["median"] * NANO}
    if times.get("low") is not None and times.get("high") is not None:
        told["range"] = f"± {max(times['high'] - times['median'], times['median'] - times['low']) * NANO:.6g}"
    gpu = entry.environment.get("gpu") or {}
    lines = [f"median of {len(times['samples'])} samples", gpu.get("name"), gpu.get("driver") and f"driver {gpu['driver']}",
             entry.environment.get("commit") and f"commit {entry.environment['commit'][:12]}"]
    return {**told, "extra": "\n".join(line for line in lines if line)}
