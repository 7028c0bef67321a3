"""Stamps of the random order as the real `rungs ab` writes them, for rows that a test makes itself."""

import functools
import json
import pathlib
import subprocess
import sys
import tempfile

from compare_rows import Machine
from program import RUNGS

# Appends the environment and the row that lie beside it, under a run of its own.
PROGRAM = """#!/bin/sh
if [ "$2" = --help ]; then echo --out; exit; fi
while [ "$1" != --out ]; do shift; done
sed "s/RUN/$$/" {lines} >>"$2"
"""


@functools.cache
def stamps(repetitions, seed, *options):
    """{"base": [stamp of its first process, ...], "new": [...]}"""
    with tempfile.TemporaryDirectory(prefix="rungs_order_") as name:
        folder = pathlib.Path(name)
        environment = {**Machine(1).environment(), "run": "RUN"}
        (folder / "lines").write_text("".join(json.dumps(line) + "\n" for line in (environment, Machine(1).row("RUN"))))
        program = folder / "program"
        program.write_text(PROGRAM.format(lines=folder / "lines"))
        program.chmod(0o755)
        done = subprocess.run(
            [
                RUNGS,
                "ab",
                program,
                program,
                "any case",
                "--repetitions",
                str(repetitions),
                "--seed",
                str(seed),
                "--out",
                folder,
                *(options or ("--second-stage", "0s")),
            ],
            capture_output=True,
            text=True,
        )
        if done.returncode not in (0, 1):
            sys.exit(f"rungs ab: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return {
            side: [
                line["ab"]
                for line in map(json.loads, (folder / f"{side}.jsonl").read_text().splitlines())
                if line["kind"] == "environment"
            ]
            for side in ("base", "new")
        }
