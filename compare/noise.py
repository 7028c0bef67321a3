"""The noise floor of a machine: how far process medians of one build scatter, for each case, variant and mode. Made by calibrate.py."""
import json
import math

import numpy as np

from join import MODES, Series
from lines import BadResults, NoRows, device_of, machine_of, timed

SCHEMA = 1
MIN_PROCESSES = 9  # a spread seen in fewer makes floors that hide what they should judge


def calibrate(side):
    """A/A runs of one build -> the noise file's content."""
    machines, entries = {}, []
    for (case, spec, emulated, _), by_run in sorted(side.rows.items(), key=str):
        rows = [row for row in by_run.values() if row["verdict"] == "pass"]
        for mode in MODES:
            with_times = [row for row in rows if timed(row, mode)]
            if len(with_times) < MIN_PROCESSES or emulated:
                continue
            for row in with_times:
                machine = machine_of(side.environments.get(row.get("run")), row)
                if machine is None:
                    raise BadResults(f"{side.path}: a run without its environment line: nothing says where it ran")
                kind = device_of(row)
                if machines.setdefault(kind, machine) != machine:
                    raise BadResults(f"{side.path}: runs on two kinds of machine: {machines[kind]} and {machine}")
            entries.append({"case": case, "spec": spec, "mode": mode, "machine": kind, **scatter(Series(with_times, mode))})
    if not entries:
        raise NoRows(f"{side.path}: no row was timed in {MIN_PROCESSES} processes or more")
    return {"kind": "noise", "schema": SCHEMA, "machines": machines, "commits": side.commits(), "rows": entries}


def scatter(series):
    """Standard deviations of log process medians; degrees of freedom."""
    def deviation(values):
        return None if np.isnan(values).any() else float(np.std(np.log(values), ddof=1))

    return {"processes": len(series), "median_seconds": float(np.median(series.seconds)), "spread": deviation(series.seconds),
            "spread_cycles": deviation(series.cycles)}


class Noise:
    """A noise file, held against the machine that NEW ran on."""

    def __init__(self, path, side):
        try:
            with open(path, encoding="utf-8") as file:
                content = json.load(file)
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise BadResults(f"{path}: no noise file: {error}") from error
        if not isinstance(content, dict) or content.get("kind") != "noise" or content.get("schema") != SCHEMA:
            raise BadResults(f"{path}: not a noise file of schema {SCHEMA} (rungs calibrate writes them)")
        few = [row["processes"] for row in content["rows"] if row["processes"] < MIN_PROCESSES]
        if few:
            raise BadResults(f"{path}: a spread from {min(few)} processes: {MIN_PROCESSES} or more are needed to believe it; calibrate again")
        self.known = {(row["case"], row["spec"], row["mode"]): row for row in content["rows"]}
        for rows in side.rows.values():
            for run, row in rows.items():
                was, now = content["machines"].get(device_of(row)), machine_of(side.environments.get(run), row)
                if was and now and was != now and row.get("timing"):
                    raise BadResults(f"{path}: of another machine: {was}, where {side.path} ran on {now}; calibrate here")

    def spread(self, c):
        """(standard deviation, degrees of freedom) or None."""
        row = self.known.get((c.case, c.spec, c.mode))
        value = row and (row["spread_cycles"] if c.judged_by == "cycles" and row["spread_cycles"] is not None else row["spread"])
        return (value, row["processes"] - 1) if value is not None and math.isfinite(value) else None
