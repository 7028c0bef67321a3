"""Rows with known truth for the tests of `rungs compare`, `ab` and `calibrate`: valid by the schema, samples from a seeded generator."""

import copy
import json
import pathlib
import random

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden/rows.jsonl"
LINES = [json.loads(text) for text in GOLDEN.read_text().splitlines()]
ENVIRONMENT = next(line for line in LINES if line["kind"] == "environment" and line["gpu"])
TIMED = next(line for line in LINES if line["kind"] == "row" and line["timing"] and line["backend"] == "cuda")
COUNT = 15


def mode_of(seconds, mhz):
    ordered = sorted(seconds)
    middle = ordered[len(ordered) // 2]
    return {
        "count": len(seconds),
        "median": middle,
        "min": ordered[0],
        "max": ordered[-1],
        "q1": ordered[3],
        "q3": ordered[-4],
        "low": ordered[3],
        "high": ordered[-4],
        "samples": seconds,
        "sm_mhz": mhz,
        "calls_per_sample": 1,
        "clock": "cuda events",
        "why_none": None,
    }


class Machine:
    """Makes runs: every process has a speed of its own by 0.3%, every sample by 1%."""

    def __init__(self, seed, process=0.003, sample=0.01):
        self.random = random.Random(seed)
        self.process, self.sample = process, sample
        self.count = 0

    def environment(self, **gpu):
        self.count += 1
        line = copy.deepcopy(ENVIRONMENT)
        line["run"] = f"20270101T000000Z-{self.random.getrandbits(32):08x}"
        line["gpu"].update(gpu)
        return line

    def timing(self, seconds=1e-3, mhz=1980.0, follows_clock=False):
        clock = mhz if isinstance(mhz, float) else self.random.choice(mhz)
        level = seconds * self.random.lognormvariate(0, self.process) * (1980 / clock if follows_clock else 1)
        return mode_of([level * self.random.lognormvariate(0, self.sample) for _ in range(COUNT)], [clock] * COUNT)

    def row(self, run, window=30, variant="rolling/cuda_shared", modes=("cold",), **time):
        row = copy.deepcopy(TIMED)
        params = {**row["params"], "window": window}
        text = " ".join(f"{k}={v}" for k, v in params.items())
        row.update(
            run=run,
            params=params,
            case=f"rolling {text} dtype=f64 input=uniform seed=1",
            dtype="f64",
            input="uniform",
            seed=1,
            variant=variant,
            tunables={},
            spec=variant,
            baseline=None,
            timing={mode: self.timing(**time) for mode in modes},
        )
        return row

    def file(self, path, runs, rows, change=None, **gpu):
        """rows: for each row of a run the arguments of row(). change(row, number of the run) may edit or return None to drop it."""
        lines = []
        for number in range(runs):
            environment = self.environment(**gpu)
            made = [self.row(environment["run"], **words) for words in rows]
            lines += [environment, *filter(None, (change(row, number) if change else row for row in made))]
        pathlib.Path(path).write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path


def not_passed(row, verdict, reason):
    row.update(verdict=verdict, reason=reason, timing=None, why_not_timed="failed verification", reverified=None)
    return row
