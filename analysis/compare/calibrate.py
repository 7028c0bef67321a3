"""The noise floor of a machine: how far process medians of one build scatter, for each case, variant and mode. `rungs calibrate` makes it from rows of a
build against itself, process by process; `rungs compare --noise` reads it."""

import json
import math
import re
import sys
import time

import numpy as np

from analysis import rows as r
from analysis.compare import builds
from analysis.compare.decide import MIN_SPREAD_PROCESSES as MIN_PROCESSES
from analysis.compare.join import Series
from analysis.compare.sides import Side, timed
from analysis.foreign import terminal
from analysis.inputs import opened
from analysis.lines import BadResults, NoRows
from analysis.output import MACHINE, ends, run, write_whole

SCHEMA = 1


def calibrate(side):
    """A/A runs of one build -> the noise file's content."""
    machines, entries = {}, []
    for (case, spec, emulated, _), by_run in sorted(side.rows.items(), key=str):
        rows = [row for row in by_run.values() if row["verdict"] == "pass"]
        for mode in r.modes_of(rows):
            with_times = [row for row in rows if timed(row, mode)]
            if len(with_times) < MIN_PROCESSES or emulated:
                continue
            for row in with_times:
                machine = r.kind_of_machine(side.environments.get(row.get("run")), row)
                if machine is None:
                    raise BadResults(f"{side.path}: a run without an environment line: its machine is unknown")
                kind = r.device_of(row)
                if machines.setdefault(kind, machine) != machine:
                    raise BadResults(f"{side.path}: runs on two kinds of machine: {machines[kind]} and {machine}")
            entries.append(
                {"case": case, "spec": spec, "mode": mode, "machine": kind, **scatter(Series(with_times, mode))}
            )
    if not entries:
        raise NoRows(f"{side.path}: no row was timed in {MIN_PROCESSES} processes or more")
    return {"kind": "noise", "schema": SCHEMA, "machines": machines, "commits": side.commits(), "rows": entries}


def scatter(series):
    """Standard deviations of log process medians, from how many; and at which clock."""

    def deviation(values):
        return None if np.isnan(values).any() else float(np.std(np.log(values), ddof=1))

    return {
        "processes": len(series),
        "median_seconds": float(np.median(series.seconds)),
        "spread": deviation(series.seconds),
        "spread_cycles": deviation(series.cycles),
        "sm_mhz": clock_of(series),
    }


def clock_of(*sides):
    """The median of all processes, None where one of them does not know."""
    mhz = np.concatenate([s.mhz for s in sides])
    return None if np.isnan(mhz).any() else float(np.median(mhz))


class Noise:
    """A noise file, held against the machine that NEW ran on."""

    def __init__(self, path, side):
        try:
            with opened(path) as file:
                content = json.load(file)
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise BadResults(f"{path}: no noise file: {error}") from error
        if not isinstance(content, dict) or content.get("kind") != "noise" or content.get("schema") != SCHEMA:
            raise BadResults(f"{path}: not a noise file of schema {SCHEMA} (rungs calibrate writes them)")
        few = [row["processes"] for row in content["rows"] if row["processes"] < MIN_PROCESSES]
        if few:
            raise BadResults(
                f"{path}: a spread from {min(few)} processes: at least {MIN_PROCESSES} are needed; calibrate again"
            )
        self.path = path
        self.known = {(row["case"], row["spec"], row["mode"]): row for row in content["rows"]}
        self.used, self.other_clock = set(), {}
        for rows in side.rows.values():
            for id_, row in rows.items():
                was, now = content["machines"].get(r.device_of(row)), r.kind_of_machine(side.environments.get(id_), row)
                if was and now and was != now and row.get("timing"):
                    raise BadResults(
                        f"{path}: measured on another machine ({was}); {side.path} ran on {now}. Calibrate on that machine"
                    )

    def spread(self, c):
        """(standard deviation, degrees of freedom) or None."""
        key = c.case, c.spec, c.mode
        row = self.known.get(key)
        value = row and (
            row["spread_cycles"] if c.judged_by == "cycles" and row["spread_cycles"] is not None else row["spread"]
        )
        if value is None or not math.isfinite(value) or self.is_apart(key, row, c):
            return None
        self.used.add(key)
        return value, row["processes"] - 1

    def is_apart(self, key, row, c):
        """Made with clocks set otherwise: what scatters at one clock says little of another."""
        was, now = row.get("sm_mhz"), clock_of(*c.series)
        if was and now and abs(math.log(now / was)) > r.LOCKED_APART:
            self.other_clock[key] = was, now
            return True
        return False

    def warnings(self, comparisons):
        """Of what is not covered: a gate must not seem to know its machine."""
        keys = {(c.case, c.spec, c.mode) for c in comparisons if c.tested_on}
        found = []
        if keys - self.used:
            found.append(
                f"{self.path} covers {len(keys & self.used)} of {len(keys)} comparisons; calibrate with the compared scenarios"
            )
        apart = [self.other_clock[key] for key in keys if key in self.other_clock]
        if apart:
            was, now = (np.median([pair[i] for pair in apart]) for i in (0, 1))
            found.append(
                f"{self.path} was made at another SM clock for {len(apart)} of them (about {was:.0f} MHz, now {now:.0f} MHz) and does "
                "not cover these; calibrate again"
            )
        return found


def file_name(machines):
    """By what the noise belongs to: device, driver, power cap; never a host."""
    machine = machines.get("cuda") or next(iter(machines.values()))
    words = [
        machine.get("device"),
        machine.get("driver_major") and f"driver{machine['driver_major']}",
        machine.get("power_cap_watts") and f"{machine['power_cap_watts']:g}W",
    ]
    return re.sub(r"[^a-z0-9]+", "-", " ".join(w for w in words if w).lower()).strip("-") + ".json"


def measure(given):
    """Processes of this build, whose rows go to the file `rows`."""
    builds.catch_signals()
    scenarios = builds.scenarios_of(given["project"][0], given["word"])
    build = builds.Build("calibrate", given["program"][0], given["rows"][0], scenarios, given, may_skip=False)
    if "lock" in given:
        builds.wait_for_lock(given["lock"][0])
    began, total = time.monotonic(), int(given["repetitions"][0])
    for i in range(total):
        builds.say(f"rungs calibrate: process {i + 1} of {total}{builds.time_left(began, i, total)}")
        build.process()


def write_noise(given):
    content = calibrate(Side(given["rows"][0]).one_build())
    path = given["out"][0] if "out" in given else f"{given['folder'][0]}/{file_name(content['machines'])}"
    write_whole(path, json.dumps(content, indent=1) + "\n")
    for row in content["rows"]:
        print(f"{100 * row['spread']:6.2f}%  {row['mode']:8} {terminal(row['spec'])} | {terminal(row['case'])}")
    print(
        f"spread of process medians (standard deviation of their logarithm), {len(content['rows'])} series\nnoise: {path}"
    )


@ends
def main(words=None):
    """words: of builds.given_by(), from harness/cli/builds.c."""
    given = builds.given_by(sys.argv[1:] if words is None else words)
    try:
        if "repetitions" in given:
            measure(given)
        write_noise(given)
    except builds.Interrupted:
        return MACHINE
    return 0


if __name__ == "__main__":
    sys.exit(run(main))
