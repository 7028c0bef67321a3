"""Bencher Metric Format (bencher.dev): the built-in measure `latency` in nanoseconds, with the 95% interval of the median. The latest row of each."""
import json

from analysis.export.entries import NANO


def write(source):
    found = source.one_machine(source.latest.rows)
    metrics = {entry.name: {"latency": metric(entry.times)} for entry in found}
    return json.dumps(metrics, indent=1, allow_nan=False) + "\n", len(metrics)


def metric(times):
    told = {"value": times["median"], "lower_value": times.get("low"), "upper_value": times.get("high")}
    return {key: value * NANO for key, value in told.items() if value is not None}
