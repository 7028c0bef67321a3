"""rungs calibrate: rows of a build against itself -> the noise file that `rungs compare --noise` reads."""

import json
import re
import sys

from analysis.arguments import Parser
from analysis.compare.noise import calibrate
from analysis.compare.sides import Side
from analysis.foreign import terminal
from analysis.output import ends, run, write_whole


def file_name(machines):
    """By what the noise belongs to: device, driver, power cap; never a host."""
    machine = machines.get("cuda") or next(iter(machines.values()))
    words = [
        machine.get("device"),
        machine.get("driver_major") and f"driver{machine['driver_major']}",
        machine.get("power_cap_watts") and f"{machine['power_cap_watts']:g}W",
    ]
    return re.sub(r"[^a-z0-9]+", "-", " ".join(w for w in words if w).lower()).strip("-") + ".json"


@ends
def main(words=None):
    parser = Parser(prog="rungs calibrate")
    parser.add_argument("rows")
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument("--out", help="the noise file")
    place.add_argument("--folder", help="where to put it under the name of the machine")
    arguments = parser.parse_args(words)
    content = calibrate(Side(arguments.rows).one_build())
    path = arguments.out or f"{arguments.folder}/{file_name(content['machines'])}"
    write_whole(path, json.dumps(content, indent=1) + "\n")
    for row in content["rows"]:
        print(f"{100 * row['spread']:6.2f}%  {row['mode']:8} {terminal(row['spec'])} | {terminal(row['case'])}")
    print(
        f"spread of process medians (standard deviation of their logarithm), {len(content['rows'])} series\nnoise: {path}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(run(main))
