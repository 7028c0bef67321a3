"""nvbench's JSON (file version 1.0.0), for its nvbench-compare-robust, nvbench-compare-legacy and nvbench-json-summary: GPU rows that have `cold` times.

A benchmark is a variant, a state a case, its axes the case's parameters. Samples are those of all processes of the latest build. `cold` is
nvbench's cold measurement (L2 flushed), `hot` its batch. A CUDA row that did not pass is a skipped state. With --out FILE the samples lie beside
it, as by nvbench's --jsonbin: FILE-bin/N.bin, SM clocks (Hz) in FILE-freqs-bin/N.bin, both little-endian float32.
"""

import json
import os
import statistics
import struct

from analysis import rows as r
from analysis.export.entries import build_of, grouped
from analysis.lines import NoRows

VERSION = {"major": 1, "minor": 0, "patch": 0, "string": "1.0.0"}  # of the format, not of a library
TYPES = {bool: "string", int: "int64", float: "float64"}
SAMPLES, CLOCKS = ("bin", "nv/cold/sample_times", "sample_times"), ("freqs-bin", "nv/cold/sample_freqs", "sample_freqs")


def write(source):
    states = [(measured[0].row, measured) for measured in measurements(source).values()]
    if not states:
        raise NoRows("no GPU row has cold times, and nvbench's format holds only those")
    timed = {key_of(row) for row, _ in states}
    states += [
        (row, [])
        for row in source.latest.rows
        if row["backend"] == "cuda" and row["verdict"] != "pass" and key_of(row) not in timed
    ]
    by_variant = {}
    for row, measured in states:
        by_variant.setdefault(name_of(row), []).append((row, measured))
    files = Files(source)
    benchmarks = [benchmark(index, name, found, files) for index, (name, found) in enumerate(by_variant.items())]
    root = {
        "meta": {"argv": ["rungs", "export", "nvbench"], "version": {"json": VERSION}},
        "devices": [device(states[0][1][-1].environment)],
        "benchmarks": benchmarks,
    }
    return json.dumps(root, indent=1, allow_nan=False) + "\n", len(states)


def measurements(source):
    """(benchmark, case) -> the processes of the latest build with cold times on a GPU."""
    found = source.one_machine(source.rows)
    on_gpu = {id(e.row) for e in found if (e.times.get("clock") or "").startswith("cuda")}
    cold = grouped([e for e in found if e.mode == "cold" and id(e.row) in on_gpu])
    return {key_of(group[-1].row): [e for e in group if build_of(e) == build_of(group[-1])] for group in cold.values()}


def name_of(row):
    return row["spec"] + (f" ({(row['bound'] or {}).get('name')} bound)" if r.is_declared(row) else "")


def key_of(row):
    return name_of(row), row["case"]


def device(e):
    gpu = e.get("gpu") or {}
    major, _, minor = (gpu.get("compute_capability") or "").partition(".")
    known = {
        "sm_version": int(major) * 100 + int(minor) * 10 if major and minor else None,
        "number_of_sms": gpu.get("sm_count"),
        "global_memory_size": gpu.get("memory_bytes"),
        "l2_cache_size": gpu.get("l2_bytes"),
        "shared_memory_per_block": gpu.get("shared_bytes_per_block"),
        "ecc_state": gpu.get("ecc"),
    }
    return {
        "id": 0,
        "name": gpu.get("name") or "unknown GPU",
        **{key: value for key, value in known.items() if value is not None},
    }


def benchmark(index, name, found, files):
    points = [axes_of(row) for row, _ in found]
    axes = [axis(key, [point[key] for point in points]) for key in points[0]]
    return {
        "name": name,
        "index": index,
        "devices": [0],
        "axes": axes,
        "states": [state(row, point, measured, files) for (row, measured), point in zip(found, points)],
    }


def axes_of(row):
    return {**(row.get("params") or {}), "dtype": row["dtype"], "input": row["input"], "seed": row["seed"]}


def axis(name, values):
    kind, distinct = TYPES.get(type(values[0]), "string"), list(dict.fromkeys(map(str, values)))
    return {
        "name": name,
        "type": kind,
        "flags": "",
        "values": [{"input_string": value, "description": "", "value": value} for value in distinct],
    }


def state(row, point, measured, files):
    values = [
        {"name": key, "type": TYPES.get(type(value), "string"), "value": str(value)} for key, value in point.items()
    ]
    told = {
        "name": " ".join(["Device=0", *(f"{key}={value}" for key, value in point.items())]),
        "device": 0,
        "type_config_index": 0,
        "axis_values": values,
    }
    if measured:
        return {**told, "summaries": summaries(row, measured, files), "is_skipped": False}
    reason = (
        f"verification failed: {row['reason']}" if row["verdict"] == "fail" else row.get("reason") or row["verdict"]
    )
    return {**told, "summaries": None, "is_skipped": True, "skip_reason": reason}


def summaries(row, measured, files):
    samples = [seconds for e in measured for seconds in e.times["samples"]]
    clocks = [mhz and mhz * 1e6 for e in measured for mhz in e.times.get("sm_mhz") or [None]]
    known = len(clocks) == len(samples) and all(clocks)
    work, mean = row.get("work") or {}, statistics.fmean(samples)
    spread = statistics.stdev(samples) if len(samples) > 1 else None
    q1, median, q3 = statistics.quantiles(samples, n=4, method="inclusive") if len(samples) > 1 else samples * 3
    told = [
        count("nv/cold/sample_size", "Samples", len(samples)),
        *(
            duration(f"nv/cold/time/gpu/{tag}", name, value, hide)
            for tag, name, value, hide in (
                ("min", "Min GPU Time", min(samples), True),
                ("max", "Max GPU Time", max(samples), True),
                ("mean", "GPU Time", mean, False),
                ("q1", "Q1 GPU Time", q1, True),
                ("median", "Median GPU Time", median, True),
                ("q3", "Q3 GPU Time", q3, True),
                ("stdev/absolute", "Noise", spread, True),
                ("iqr/absolute", "IQR GPU Time", q3 - q1, True),
            )
        ),
        number("nv/cold/time/gpu/stdev/relative", "Noise", "percentage", spread / mean if spread is not None else None),
        number("nv/cold/time/gpu/iqr/relative", "Relative IQR", "percentage", (q3 - q1) / median, hide=True),
    ]
    if work.get("elements"):
        told.append(number("nv/cold/bw/item_rate", "Elem/s", "item_rate", work["elements"] / mean))
    if work.get("bytes"):
        told.append(number("nv/cold/bw/global/bytes_per_second", "GlobalMem BW", "byte_rate", work["bytes"] / mean))
    if known:
        told.append(
            number("nv/cold/sm_clock_rate/mean", "SM Clock Rate", "frequency", statistics.fmean(clocks), hide=True)
        )
    hot = [seconds for e in measured if (times := r.timing(e.row, "hot")) for seconds in times.get("samples") or []]
    if hot:
        told += [
            count("nv/batch/sample_size", "Samples", len(hot)),
            duration("nv/batch/time/gpu/mean", "Batch GPU", statistics.fmean(hot)),
        ]
    return told + files.add([(SAMPLES, samples), *([(CLOCKS, clocks)] if known else [])])


def summary(tag, name, hint, data, hide=False):
    shown = {"hide": "Hidden by default."} if hide else {}
    return {
        "tag": tag,
        "name": name,
        "hint": hint,
        **shown,
        "data": [{"name": key, "type": kind, "value": value} for key, kind, value in data],
    }


def number(tag, name, hint, value, hide=False):
    """Numbers are texts, as nvbench writes them; null is not finite."""
    return summary(tag, name, hint, [("value", "float64", None if value is None else repr(float(value)))], hide)


def duration(tag, name, value, hide=False):
    return number(tag, name, "duration", value, hide)


def count(tag, name, value):
    return summary(tag, name, "sample_size", [("value", "int64", str(value))])


class Files:
    """What lies beside --out; nothing where the JSON goes to stdout, a device or a pipe."""

    def __init__(self, source):
        self.out = source.out if source.out and (os.path.isfile(source.out) or not os.path.exists(source.out)) else None
        self.files, self.number = source.files, 0

    def add(self, lists):
        told = []
        for (ending, tag, hint), values in lists if self.out else []:
            path = self.out.with_name(f"{self.out.name}-{ending}") / f"{self.number}.bin"
            self.files[path] = struct.pack(f"<{len(values)}f", *values)
            told.append(
                summary(
                    f"nv/json/{ending}:{tag}",
                    f"{hint.replace('_', ' ').title()} File",
                    f"file/{hint}",
                    [("filename", "string", f"{path.parent.name}/{path.name}"), ("size", "int64", str(len(values)))],
                    hide=True,
                )
            )
        self.number += 1
        return told
