"""Steps of a workflow, executed as a runner executes them."""

import re
import subprocess

BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c")  # as GitHub calls it for `shell: bash`
RUNS_AFTER = {
    None: ("success",),
    "failure()": ("failure",),
    "always()": ("success", "failure"),
    "${{ !cancelled() }}": ("success", "failure"),
    "startsWith(github.ref, 'refs/tags/')": ("success",),  # of a tag, as these runs are
}


def execute(workflow, job, folder, environment, values, own=None, timeout=300):
    """(step name, exit code, output) of each step that runs a command; after a failure only those that ask for it. values: of expressions;
    own: variables in place of the workflow's."""
    state = "success"
    for step in workflow["jobs"][job]["steps"]:
        if "run" not in step or state not in RUNS_AFTER[step.get("if")]:
            continue
        env = {**workflow.get("env", {}), **workflow["jobs"][job].get("env", {}), **step.get("env", {})}
        env = {
            name: re.sub(r"\$\{\{ (.*?) \}\}", lambda found: values[found.group(1)], text) for name, text in env.items()
        }
        env.update({name: value for name, value in (own or {}).items() if name in env})
        done = subprocess.run(
            [*BASH, step["run"]],
            cwd=folder,
            env={**environment, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
        )
        yield step["name"], done.returncode, done.stdout
        state = "failure" if done.returncode != 0 else state
