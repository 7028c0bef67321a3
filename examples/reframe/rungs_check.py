"""Scenarios of rungs as ReFrame tests: each is a job that runs `rungs run SCENARIO`. It passes if no row fails or ends with an error; the
median time of every row is a performance variable, and rows of an earlier run are the references. README.md has the commands."""

import json
import os
import shlex
import statistics
import subprocess

import reframe as rfm
import reframe.utility.sanity as sn

RUNGS = os.path.expanduser(os.environ.get("RUNGS", "rungs"))
MODES = ("cold", "hot")  # host times scatter too much for a fixed threshold


def scenarios():
    listed = subprocess.run([RUNGS, "list", "scenarios", "--json"], capture_output=True, text=True, check=True)
    return [scenario["name"] for scenario in json.loads(listed.stdout)]


def rows_of(path):
    with open(path) as lines:
        return [row for row in map(json.loads, lines) if row["kind"] == "row"]


def times(rows):
    """{"SPEC on CASE, MODE": seconds}: over several processes their median."""
    found = {}
    for row in rows:
        for mode in MODES:
            timed = (row["timing"] or {}).get(mode)
            if row["verdict"] == "pass" and timed and timed["median"]:
                found.setdefault(f"{row['spec']} on {row['case']}, {mode}", []).append(timed["median"])
    return {name: statistics.median(seconds) for name, seconds in found.items()}


@rfm.simple_test
class Scenario(rfm.RunOnlyRegressionTest):
    scenario = parameter(scenarios())
    options = variable(str, value="")  # of `rungs run`
    base = variable(str, value="")  # file of rows whose times are the references
    slower = variable(float, value=0.1)  # than the reference: beyond it the test fails
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = RUNGS
    keep_files = ["rows.jsonl"]
    num_tasks = 1

    @run_before("run")
    def set_command(self):
        self.executable_opts = ["run", self.scenario, "--out", "rows.jsonl", *shlex.split(self.options)]

    @sanity_function
    def verified(self):
        path = os.path.join(self.stagedir, "rows.jsonl")
        rows = rows_of(path) if os.path.exists(path) else []
        wrong = [
            f"{row['spec']} on {row['case']}: {row['verdict']}: {row['reason']}"
            for row in rows
            if row["verdict"] in ("fail", "error")
        ]
        passed = sum(row["verdict"] == "pass" for row in rows)
        return sn.all(
            [
                sn.assert_false(wrong, msg="\n".join(wrong)),
                sn.assert_gt(passed, 0, msg="no row passed; see rungs' own output"),
            ]
        )

    @run_before("performance")
    def set_times(self):
        found = times(rows_of(os.path.join(self.stagedir, "rows.jsonl")))
        before = times(rows_of(self.base)) if self.base else {}
        self.perf_variables = {
            name: sn.make_performance_function(sn.defer(seconds), "s") for name, seconds in found.items()
        }
        self.reference = {"*": {name: (before[name], None, self.slower, "s") for name in found if name in before}}
