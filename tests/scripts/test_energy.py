"""`run --energy` with a counter that stands in for RAPL: 50 W always, and 100 W more for each second of CPU time of the workers. So a call of one thread
uses 100 W times its time, whatever the machine does besides."""

import math
import os
import pathlib
import threading
import time

import pytest
from program import SOURCE, call, expect, needs_release, rows_of

pytestmark = needs_release

IDLE, BUSY = 50.0, 100.0
CASE = "rolling n=2e4 window=100 agg=mean"
TICKS = os.sysconf("SC_CLK_TCK")


def worker_seconds(folder):
    """Of the workers that run now of the program whose rows go to this folder."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if b"\0--commands\0" in (path / "cmdline").read_bytes():
                fields = (path / "stat").read_text().rpartition(")")[2].split()
                if folder in pathlib.Path(f"/proc/{fields[1]}/cmdline").read_text():
                    found[path.name] = (int(fields[11]) + int(fields[12])) / TICKS
        except OSError:
            continue
    return found


class Counter:
    def __init__(self, folder, still=False):
        self.place = folder / "intel-rapl:0"
        self.place.mkdir()
        self.still, self.end = still, threading.Event()
        self.write(1.0)
        self.thread = threading.Thread(target=self.run)

    def write(self, joules):
        (self.place / "new").write_text(f"{joules * 1e6:.0f}\n")
        (self.place / "new").rename(self.place / "energy_uj")

    def run(self):
        begin, own = time.monotonic(), {}
        while not self.end.wait(0.01):
            own |= worker_seconds(self.place.parent.name)
            if not self.still:
                self.write(1 + IDLE * (time.monotonic() - begin) + BUSY * sum(own.values()))

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.end.set()
        self.thread.join()


def energy(folder, variant, *words, rapl=None):
    out = folder / "rows.jsonl"
    options = ("--quick", "--no-ceilings", "--energy", "--out", out)
    done = call(
        "run", CASE, "--variants", variant, *options, *words, env={**os.environ, "RUNGS_RAPL": str(rapl or folder)}
    )
    expect(done.returncode == 0, "the row passes", done)
    (row,) = rows_of(out)
    return row


@pytest.mark.parametrize("variant", ["cpu_naive", "peer_pandas"])
def test_joules_of_a_call(worker_folder, variant):
    with Counter(worker_folder):
        row = energy(worker_folder, variant)
    told, seconds = row["energy"], row["timing"]["hot"]["min"]  # on a busy machine the CPU time of a call
    assert told["seconds"] >= 6 and told["calls"] > 100, told
    assert told["idle_watts"] == pytest.approx(IDLE, abs=10), told
    assert told["low"] <= told["joules"] <= told["high"], told
    assert 0.4 * BUSY * seconds < told["joules"] < 2 * BUSY * seconds, (told, seconds)
    assert told["joules_per_element"] == pytest.approx(told["joules"] / 2e4)
    assert told["sm_mhz"] is None


@pytest.mark.parametrize("variant, reason", [("cpu_naive", "RAPL"), ("peer_pandas", "RAPL")])
def test_not_measurable(worker_folder, variant, reason):
    row = energy(worker_folder, variant, rapl=worker_folder / "nothing")
    assert reason in row["energy"]["reason"] and row["timing"], row["energy"]


@pytest.mark.parametrize("variant", ["cpu_naive", "peer_pandas"])
def test_a_counter_that_stands_still(worker_folder, variant):
    with Counter(worker_folder, still=True):
        row = energy(worker_folder, variant)
    assert row["energy"] == {"reason": "not measurable: the energy counter stands still"}


def test_nobody_asked(folder):
    out = folder / "rows.jsonl"
    call("run", "double n=1000", "--variants", "cpu_*", "--quick", "--no-ceilings", "--out", out)
    assert {row["energy"] for row in rows_of(out)} == {None}


SCENARIO = """title: one
suites:
  - op: rolling
    axes: {n: [20000], window: [100], agg: [mean]}
    variants: [cpu_naive, cpu_online]
    energy: [cpu_naive]
"""


def test_named_in_a_scenario(worker_folder):
    out, path = worker_folder / "rows.jsonl", worker_folder / "one.yaml"
    path.write_text(SCENARIO)
    env = {**os.environ, "RUNGS_RAPL": str(worker_folder / "nothing")}
    done = call("run", path, "--quick", "--no-ceilings", "--out", out, env=env)
    told = {row["variant"]: row["energy"] for row in rows_of(out)}
    expect("RAPL" in told["rolling/cpu_naive"]["reason"] and told["rolling/cpu_online"] is None, f"{told}", done)


def test_what_a_campaign_measures():
    """Of 16 cases, gates and bf16 among them; a row takes 8 s, and all of them may take 4 minutes."""
    yaml, cases, rows, dtypes = pytest.importorskip("yaml"), 0, 0, set()
    for path in (SOURCE / "scenarios").rglob("*.yaml"):
        for suite in yaml.safe_load(path.read_text())["suites"]:
            axes = suite.get("axes", {})
            many = len(suite.get("tied", [{}])) * math.prod(len(values) for values in axes.values())
            if "energy" in suite:
                cases, rows = cases + many, rows + many * len(suite["energy"])
                dtypes |= {(path.stem, dtype) for dtype in axes.get("dtype", ())}
    assert cases <= 16 and 8 * rows <= 240 and ("gates", "bf16") in dtypes, (cases, rows, dtypes)
