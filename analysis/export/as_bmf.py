"""Bencher Metric Format (bencher.dev): the built-in measure `latency` in nanoseconds. The median over processes and the range of these; of one
process its own median and 95% interval."""

import json

from analysis.export.entries import NANO, measurements


def write(source):
    metrics = {m.entry.name: {"latency": metric(m)} for m in measurements(source)}
    return json.dumps(metrics, indent=1, allow_nan=False) + "\n", len(metrics)


def metric(m):
    told = {"value": m.median, "lower_value": m.low, "upper_value": m.high}
    return {key: value * NANO for key, value in told.items() if value is not None}
