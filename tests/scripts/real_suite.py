"""A simulated suite through the real `rungs ab`: two programs that append the rows which a process on such a machine would have written, in the order
that `ab` draws, with the stamps that `ab` writes, judged by the `compare` that it starts. Beside it the verdicts of simulated_suite.py."""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from compare_rows import COUNT, Machine, mode_of
from program import RUNGS, rows_of
from simulated_suite import PROCESSES, Stage, Suite

from analysis.compare import detect

ROWS = 40  # enough for a simulated machine, and written in seconds
TOTAL = 2 * PROCESSES + 2 * detect.MORE
# Appends the lines that were made for the so-many-th process, with the times of its own build.
PROGRAM = """#!{python} -SE
import pathlib, sys
words, here = sys.argv[1:], pathlib.Path({folder!r})
if words == ["run", "--help"]:
    sys.exit(print("--out --no-ceilings"))
if "--budget" in words:
    sys.exit()  # the time of a start is measured: no row
number = len((here / "diary").read_text()) if (here / "diary").exists() else 0
(here / "diary").write_text("." * (number + 1))
wanted = words[words.index("--variants") + 1].split(",") if "--variants" in words else None
with open(words[words.index("--out") + 1], "a") as out:
    for line in (here / f"{name}.{{number}}").read_text().splitlines():
        spec, _, text = line.partition("|")
        if not (wanted and spec) or spec in wanted:
            out.write(text + "\\n")
"""


def name_of(row):
    return f"rolling/cuda_noise_{row:03d}"


class Played(Stage):
    """As `ab` drew it."""

    def __init__(self, is_new, rows, times, mhz):
        self.is_new, self.rows, self.times, self.mhz = is_new, rows, times, mhz


def lines_of(process, times, mhz, slow, factor):
    """ "SPEC|line" of a process, with no spec before its environment."""
    machine = Machine(process)
    environment = machine.environment()
    made = ["|" + json.dumps(environment)]
    for row in range(ROWS):
        line = machine.row(environment["run"], variant=name_of(row), modes=())
        clock = mhz[row, process]
        seconds = 1e-3 * times[row, process] * (factor if row in slow else 1)
        line["timing"] = {"cold": mode_of([seconds] * COUNT, [None if np.isnan(clock) else clock] * COUNT)}
        made.append(f"{line['spec']}|{json.dumps(line)}")
    return "".join(text + "\n" for text in made)


def play(model, seed, factor, slow=(0,)):
    """-> (verdicts of the rows by the real program, by the simulation; rows in its second stage, those it should have chosen). Rows `slow` of NEW are
    slower by the factor."""
    rng = np.random.default_rng(seed)
    stages = [
        Stage(rng, model, np.arange(ROWS), processes, number)
        for number, processes in enumerate((PROCESSES, detect.MORE))
    ]
    times, mhz = (np.hstack([getattr(stage, name) for stage in stages]) for name in ("times", "mhz"))
    with tempfile.TemporaryDirectory(prefix="rungs_noise_") as name:
        folder = pathlib.Path(name)
        for side, slower in (("base", 1.0), ("new", factor)):
            for process in range(TOTAL):
                (folder / f"{side}.{process}").write_text(lines_of(process, times, mhz, slow, slower))
            (folder / side).write_text(PROGRAM.format(python=sys.executable, folder=name, name=side))
            (folder / side).chmod(0o755)
        done = subprocess.run(
            [
                RUNGS,
                "ab",
                folder / "base",
                folder / "new",
                "any case",
                "--repetitions",
                str(PROCESSES),
                "--seed",
                str(seed),
                "--second-stage",
                "3600s",
                "--out",
                folder / "out",
                "--json",
                folder / "told.json",
            ],
            capture_output=True,
            text=True,
        )
        if done.returncode not in (0, 1):
            raise RuntimeError(f"rungs ab: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        told = {c["spec"]: c["verdict"] for c in json.loads((folder / "told.json").read_text())["comparisons"]}
        stamps = [
            line["ab"] for side in ("base", "new") for line in rows_of(folder / f"out/{side}.jsonl", "environment")
        ]
        second = {line["run"] for line in rows_of(folder / "out/new.jsonl", "environment") if line["ab"]["stage"] == 2}
        rows = sorted({int(line["spec"][-3:]) for line in rows_of(folder / "out/new.jsonl") if line["run"] in second})
    order = [
        np.array([s["side"] == "new" for s in sorted(stamps, key=lambda s: s["process"]) if s["stage"] == stage])
        for stage in (1, 2)
    ]
    begin, end = 2 * PROCESSES, 2 * PROCESSES + len(order[1])
    first = Played(order[0], np.arange(ROWS), times[:, :begin], mhz[:, :begin]).slowed(slow, factor)
    suite = Suite(first, whole=np.arange(ROWS))
    promising = np.flatnonzero(suite.promising).tolist()
    if rows:
        suite = Suite(
            first,
            Played(order[1], np.array(rows), times[rows, begin:end], mhz[rows, begin:end]).slowed(slow, factor),
            np.arange(ROWS),
        )
    return [told.get(name_of(row)) for row in range(ROWS)], suite.verdicts.tolist(), rows, promising
