"""Runs the steps of gpu-regression.yml as a runner would, by hand, and writes what they print.

    gate_steps.py OUT_FOLDER [--program RUNGS] [NAME=VALUE...]      VALUE in place of that of the workflow's `env`, such as REPETITIONS=9

Works in a clone of this checkout's HEAD, or in a copy where it is no repository, and compares HEAD with itself (docs/CI.md, step 3). Both builds take
minutes; with --program both sides are that program, which is built already. OUT_FOLDER gets steps.txt, base.jsonl, new.jsonl and what else the gate
keeps. Exit code: 0 if every step ended well.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/scripts"))
from workflow_steps import execute  # noqa: E402

# In place of ./rungs: the program, and for commits the program itself.
PROGRAM = """#!/bin/bash
if [ "$1" = ab ] && [ "$2" = --base ]; then set -- ab {program} {program} "${{@:4}}"; fi
exec {program} "$@"
"""


def git(folder, *words):
    subprocess.run(
        [
            "git",
            "-C",
            folder,
            "-c",
            "safe.directory=*",
            "-c",
            "user.name=gate",
            "-c",
            "user.email=gate@localhost",
            *words,
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )


def checkout(folder):
    if (ROOT / ".git").exists():
        git(ROOT, "clone", "-q", "--no-hardlinks", str(ROOT), str(folder))
        return
    shutil.copytree(ROOT, folder, symlinks=True, ignore=shutil.ignore_patterns("build"))
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "as copied")


def read_workflow():
    text = (ROOT / ".github/workflows/gpu-regression.yml").read_text()
    try:
        import ruamel.yaml
    except ImportError:
        import yaml

        return yaml.safe_load(text)
    return ruamel.yaml.YAML(typ="safe").load(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--program", type=pathlib.Path)
    parser.add_argument("own", nargs="*", metavar="NAME=VALUE")
    args = parser.parse_intermixed_args()
    out = args.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    workflow = read_workflow()
    own = dict(word.split("=", 1) for word in args.own)
    unknown = [name for name in own if name not in workflow["env"]]
    if unknown:
        parser.error(f"no `env` of the workflow: {', '.join(unknown)} (there are: {', '.join(workflow['env'])})")
    clone = out / "checkout"
    shutil.rmtree(clone, ignore_errors=True)
    checkout(clone)
    if args.program:
        (clone / "rungs").write_text(PROGRAM.format(program=args.program.resolve()))
    values = {
        "github.event_name": "workflow_dispatch",
        "inputs.base": "HEAD",
        "github.event.repository.default_branch": "main",
    }
    begin, good = time.monotonic(), True
    with open(out / "steps.txt", "w") as log:
        for name, code, text in execute(
            workflow,
            "compare",
            clone,
            {**os.environ, "GITHUB_STEP_SUMMARY": str(out / "page.md")},
            values,
            own,
            timeout=None,
        ):
            print(
                f"== {name}: exit code {code}, at {time.monotonic() - begin:.0f} s",
                text,
                sep="\n",
                file=log,
                flush=True,
            )
            print(f"{name}: exit code {code}, at {time.monotonic() - begin:.0f} s", flush=True)
            good = good and code == 0
    for path in (clone / "build/gate").glob("*"):
        shutil.copy2(path, out)
    shutil.rmtree(clone)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
