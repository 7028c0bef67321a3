"""customSmallerIsBetter of github-action-benchmark: name, unit, value (the median over processes); range and extra are for people."""

import json
import statistics

from analysis.export.entries import NANO, grouped


def write(source):
    wanted = {entry.name for entry in source.one_machine(source.latest.rows)}
    groups = grouped(source.one_machine(source.rows))
    benches = [bench(name, entries) for name, entries in groups.items() if name in wanted]
    return json.dumps(benches, indent=1, allow_nan=False, ensure_ascii=False) + "\n", len(benches)


def bench(name, entries):
    """Of the processes of the latest build: their median and how far they lie apart; of one process, its own interval."""
    latest = entries[-1]
    medians = [e.times["median"] for e in entries if build_of(e) == build_of(latest)]
    middle, several = statistics.median(medians), len(medians) > 1
    low, high = (min(medians), max(medians)) if several else (latest.times.get("low"), latest.times.get("high"))
    result = {"name": name, "unit": "ns", "value": middle * NANO}
    if low is not None and high is not None:
        result["range"] = f"± {max(high - middle, middle - low) * NANO:.6g}"
    gpu, commit = latest.environment.get("gpu") or {}, latest.environment.get("commit")
    lines = [
        f"median of {len(medians)} processes"
        if several
        else f"median of {len(latest.times['samples'])} samples of one process",
        gpu.get("name"),
        gpu.get("driver") and f"driver {gpu['driver']}",
        commit and f"commit {commit[:12]}",
    ]
    return {**result, "extra": "\n".join(line for line in lines if line)}


def build_of(entry):
    return entry.environment.get("commit"), bool(entry.environment.get("dirty"))
