"""customSmallerIsBetter of github-action-benchmark: name, unit, value (the median over processes); range and extra are for people."""

import json

from analysis.export.entries import NANO, measurements


def write(source):
    benches = [bench(m) for m in measurements(source)]
    return json.dumps(benches, indent=1, allow_nan=False, ensure_ascii=False) + "\n", len(benches)


def bench(m):
    told = {"name": m.entry.name, "unit": "ns", "value": m.median * NANO}
    if m.low is not None and m.high is not None:
        told["range"] = f"± {max(m.high - m.median, m.median - m.low) * NANO:.6g}"
    e = m.entry.environment
    gpu = e.get("gpu") or {}
    lines = [
        m.basis,
        gpu.get("name"),
        gpu.get("driver") and f"driver {gpu['driver']}",
        e.get("commit") and f"commit {e['commit'][:12]}",
    ]
    return {**told, "extra": "\n".join(line for line in lines if line)}
