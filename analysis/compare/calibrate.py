"""rungs calibrate: rows of a build against itself, process by process -> the noise file that `rungs compare --noise` reads."""

import json
import re
import sys
import time

from analysis.compare import builds
from analysis.compare.noise import calibrate
from analysis.compare.sides import Side
from analysis.foreign import terminal
from analysis.output import MACHINE, ends, run, write_whole


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
