"""Google Benchmark's JSON, for its tools/compare.py and whatever else reads that.

A repetition is a process where the rows come from several, else a sample: what its U test counts as independent should be it as far
as the rows allow. There are no aggregates. cpu_time repeats real_time: compare.py insists on it, and nobody measured it.
"""

import json
import statistics

from analysis.export.entries import NANO, grouped


def write(source):
    groups = grouped(source.one_machine(source.rows))
    benchmarks = [line for index, (name, entries) in enumerate(groups.items()) for line in family(index, name, entries)]
    of = context(list(groups.values())[-1][-1].environment if groups else {})
    return json.dumps({"context": of, "benchmarks": benchmarks}, indent=1, allow_nan=False) + "\n", len(groups)


def context(e):
    """Of the latest run. No host_name: results never hold one."""
    cpu, gpu, build = (e.get(key) or {} for key in ("cpu", "gpu", "build"))
    known = {
        "date": e.get("date"),
        "executable": "rungs",
        "num_cpus": cpu.get("threads"),
        "library_build_type": (build.get("type") or "").lower(),
        "commit": e.get("commit"),
        "device": gpu.get("name") or cpu.get("model"),
        "driver": gpu.get("driver"),
    }
    return {key: value for key, value in known.items() if value}


def family(index, name, entries):
    repetitions = [(statistics.median(e.times["samples"]), e) for e in entries]
    if len(entries) == 1:
        repetitions = [(seconds, entries[0]) for seconds in entries[0].times["samples"]]
    for number, (seconds, entry) in enumerate(repetitions):
        work = entry.row.get("work") or {}
        rates = {"bytes_per_second": work.get("bytes"), "items_per_second": work.get("elements")}
        yield {
            "name": name,
            "family_index": index,
            "per_family_instance_index": 0,
            "run_name": name,
            "run_type": "iteration",
            "repetitions": len(repetitions),
            "repetition_index": number,
            "threads": 1,
            "iterations": entry.times.get("calls_per_sample") or 1,
            "real_time": seconds * NANO,
            "cpu_time": seconds * NANO,
            "time_unit": "ns",
            **{key: amount / seconds for key, amount in rates.items() if amount},
        }
