"""The rule of `rungs compare` where the suite is too large for its processes: no ranking of so few is rare enough, and what they show of
their spread decides. A thousand suites of each kind in which nothing changed, and the same with one row 5% slower, of process medians
drawn as such. What it prints (pytest -s) is the second table in docs/data/gates.md: comparisons, processes a side, noise, tested on, suites of 1000
with a false alarm, 5% found.
"""

import math

import pytest
import numpy as np

import checkout  # noqa: F401
from analysis import statistics
from analysis.compare import decide, judge
from analysis.compare.join import Comparison

SUITES, CHUNK, SLOWED = 1000, 100, 1.05


def normal(spread):
    return lambda rng, shape: spread * rng.standard_normal(shape, dtype=np.float32)


def uniform(rng, shape):
    return 0.2 * rng.random(shape, dtype=np.float32)


def two_speeds(rng, shape):
    return 0.08 * (rng.random(shape, dtype=np.float32) < 0.5) + normal(0.003)(rng, shape)


def tails(rng, shape):
    return np.clip(0.03 * rng.standard_t(2, shape), -2, 2)


DRAWS = {
    "normal 8%": normal(0.08),
    "normal 5%": normal(0.05),
    "normal 0.3%": normal(0.003),
    "uniform over 20%": uniform,
    "two speeds 8% apart": two_speeds,
    "heavy tails": tails,
}
CELLS = [
    (rows, processes, name)
    for rows, processes, names in (  # comparisons in a suite, processes a side, noise
        (480, 10, ("normal 8%", "normal 5%", "normal 0.3%", "uniform over 20%", "two speeds 8% apart")),
        (440, 10, ("normal 8%",)),
        (300, 9, ("normal 8%", "normal 0.3%", "uniform over 20%", "two speeds 8% apart", "heavy tails")),
        (130, 9, ("normal 5%",)),
        (100, 8, ("normal 5%",)),
        (100, 5, ("normal 8%", "normal 5%", "heavy tails")),
        (30, 3, ("normal 8%",)),
    )
    for name in names
]


def p_of(kind, base, new):
    found = statistics.from_processes(base, new, by_spread=kind == "spread", intervals=False)
    return np.zeros_like(found.p) if kind == "samples" else found.p, found.ratio  # p of samples is as small as it likes


def verdicts(kind, base, new, ratio, adjusted, rows):
    """By the steps of judge.judge_suite. The interval is made where it decides."""
    processes, floor = base.shape[-1], np.zeros(len(base))
    if kind != "processes":
        floor = decide.noise_floor(
            statistics.pooled_spread(np.log(base), np.log(new)), 2 * processes - 2, processes, processes, rows
        )
        if processes < decide.MIN_SPREAD_PROCESSES:
            floor = np.maximum(floor, decide.noise_floor(decide.ASSUMED_SPREAD, math.inf, processes, processes, rows))
    wanted = adjusted <= decide.ALPHA
    low, high = np.full((2, len(base)), np.nan)
    low[wanted], high[wanted] = statistics.ratio_interval(base[wanted], new[wanted])
    return decide.verdicts(ratio, low, high, adjusted, decide.MIN_EFFECT, floor)


def simulate(cell, seed):
    """Suites with a false alarm; those in which the first row, made slower, was found."""
    rows, processes, name = cell
    kind = judge.kind_of_test(processes, processes, rows)
    rng, alarms, found = np.random.default_rng(100 + seed), 0, 0
    for _ in range(SUITES // CHUNK):
        base, new = np.exp(DRAWS[name](rng, (2, CHUNK * rows, processes)))
        p, ratio = p_of(kind, base, new)
        p = p.reshape(CHUNK, rows)
        told = verdicts(kind, base, new, ratio, decide.adjusted(p, axis=1).ravel(), rows)
        alarms += int(np.isin(told, ["slower", "faster"]).reshape(CHUNK, rows).any(axis=1).sum())
        base, new = base[::rows], SLOWED * new[::rows]
        p[:, 0], ratio = p_of(kind, base, new)
        found += int((verdicts(kind, base, new, ratio, decide.adjusted(p, axis=1)[:, 0], rows) == "slower").sum())
    return alarms, found


class Series:
    """What judge asks of join.Series."""

    def __init__(self, rng, medians):
        self.seconds, self.mhz, self.cycles = medians, np.full_like(medians, np.nan), np.full_like(medians, np.nan)
        self.samples = [median * np.exp(0.01 * rng.standard_normal(15)) for median in medians]


def suite(rng, rows, processes, spread, slow=None, lone=None):
    """Judged as the program does it. slow: which row is 5% slower; lone: its number of processes."""
    made = []
    for i in range(rows):
        count = lone if i == slow and lone else processes
        pair = [np.exp(spread * rng.standard_normal(count)) * (SLOWED if side and i == slow else 1) for side in (0, 1)]
        made.append(
            Comparison(
                case=str(i),
                spec="x",
                mode="cold",
                base_processes=count,
                new_processes=count,
                series=tuple(Series(rng, m) for m in pair),
            )
        )
    judge.judge(made)
    return made


@pytest.mark.parametrize("seed, cell", list(enumerate(CELLS)), ids=str)
def test_simulated(seed, cell):
    """At most one suite in a hundred with a false alarm; 5% found where they scatter little."""
    alarms, found = simulate(cell, seed)
    rows, processes, name = cell
    kind = judge.kind_of_test(processes, processes, rows)
    print(f"| {rows} | {processes} | {name} | {kind} | {alarms} | {found / SUITES:.1%} |")
    assert alarms <= SUITES // 100
    assert name != "normal 0.3%" or found >= 0.99 * SUITES


def test_equal_builds_on_a_loud_machine():
    rng = np.random.default_rng(21)
    for how in ((480, 10, 0.08), (480, 10, 0.05), (130, 9, 0.05), (100, 5, 0.05), (40, 4, 0.08), (40, 3, 0.08)):
        assert {c.verdict for c in suite(rng, *how)} == {"ambiguous"}, how


def test_a_process_lost():
    """5% on a quiet machine, in the one row that lost a process on each side: for 9 among 300 no ranking is rare enough."""
    made = suite(np.random.default_rng(22), 300, 10, 0.003, slow=7, lone=9)
    assert [(c.case, c.tested_on) for c in made if c.verdict == "slower"] == [("7", "spread")]
    assert {c.verdict for c in made if c.case != "7"} == {"same"}


def test_the_simulation_sees_a_bad_rule():
    """With the spread assumed, whatever the processes show, most such suites have a false alarm."""
    base, new = np.exp(normal(0.08)(np.random.default_rng(23), (2, 100 * 480, 10)))
    floor = decide.noise_floor(decide.ASSUMED_SPREAD, math.inf, 10, 10, 480)
    apart = np.abs(np.log(statistics.medians(new) / statistics.medians(base))) >= np.log1p(floor)
    assert apart.reshape(100, 480).any(axis=1).mean() > 0.9
