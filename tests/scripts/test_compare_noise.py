"""The rule of `rungs compare` on simulated samples whose truth is known: a thousand suites of a hundred rows in which nothing changed,
and the same with one row of each made 5% slower. What it prints is the table in docs/COMPARISON.md.

Every suite is what `rungs ab` makes: processes of BASE and NEW in one random order, some samples from each process. For the first
kinds the medians of processes scatter by about 1% (standard deviation): for these the rule promises to find 5%. The loud kinds
show that a machine that is worse than that costs decisions and yields no false alarms.
"""
import sys
import time
import unittest
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import checkout  # noqa: F401
from analysis import statistics
from analysis.compare import decide

SUITES, ROWS, PROCESSES, SAMPLES = 1000, 100, 10, 15
CHUNK = 100  # suites at a time
SLOWED = 1.05


class Session:
    """Processes of some suites: `when` in [0, 1) each process ran; normal noise by row, process and sample."""

    def __init__(self, rng, when):
        self.rng = rng
        self.when = when[:, None, :]  # suites x 1 x processes: all rows of a suite drift together

    def process(self, spread):
        return spread * self.rng.standard_normal((CHUNK, ROWS, PROCESSES, 1), dtype=np.float32)

    def sample(self, spread):
        return spread * self.rng.standard_normal((CHUNK, ROWS, PROCESSES, SAMPLES), dtype=np.float32)

    def uniform(self, *shape):
        return self.rng.random(shape, dtype=np.float32)


def log_normal(s):
    return np.exp(s.process(0.007) + s.sample(0.02)), None


def two_clocks(s):
    """A process runs at one of two clocks, a sample now and then at the other."""
    low = (s.uniform(CHUNK, ROWS, PROCESSES, 1) < 0.5) ^ (s.uniform(CHUNK, ROWS, PROCESSES, SAMPLES) < 0.1)
    return np.where(low, np.float32(1755), np.float32(1980))


def clocks_compute(s):
    mhz = two_clocks(s)
    return np.exp(s.process(0.007) + s.sample(0.02)) * 1980 / mhz, mhz


def clocks_memory(s):
    return np.exp(s.process(0.007) + s.sample(0.02)), two_clocks(s)


def drift(s):
    return np.exp(0.02 * s.when[..., None] + s.process(0.005) + s.sample(0.02)), None


def clock_drift(s):
    mhz = 1980 * (1 - 0.08 * s.when[..., None]) * np.exp(s.process(0.001) + s.sample(0.001))
    return np.exp(s.process(0.007) + s.sample(0.02)) * 1980 / mhz, mhz


def outliers(s):
    hit = s.uniform(CHUNK, ROWS, PROCESSES, SAMPLES) < 0.1
    return np.exp(s.process(0.007) + s.sample(0.015)) * np.where(hit, 1.2 + 4 * s.uniform(CHUNK, ROWS, PROCESSES, SAMPLES), 1), None


def autocorrelated(s):
    """AR(1) within a process, correlation 0.9."""
    steps = s.sample(1)
    for k in range(1, SAMPLES):
        steps[..., k] = 0.9 * steps[..., k - 1] + np.sqrt(np.float32(1 - 0.9**2)) * steps[..., k]
    return np.exp(s.process(0.004) + 0.008 * steps), None


def coarse_timer(s):
    return np.round(np.exp(s.process(0.007) + s.sample(0.02)) * 200) / 200, None


def loud(s):
    return np.exp(s.process(0.08) + s.sample(0.1)), None


def heavy_tails(s):
    tails = s.rng.standard_t(2, (CHUNK, ROWS, PROCESSES, 1)).astype(np.float32)
    return np.exp(np.clip(0.03 * tails, -2, 2) + s.sample(0.05)), None


def hidden_modes(s):
    """Two speeds that no clock shows, such as where the arrays came to lie."""
    return np.exp(0.08 * (s.uniform(CHUNK, ROWS, PROCESSES, 1) < 0.5) + s.process(0.003) + s.sample(0.01)), None


def strong_drift(s):
    """All rows of a suite together: 30% slower at the end of the session than at its beginning."""
    return np.exp(0.3 * s.when[..., None] + s.process(0.005) + s.sample(0.01)), None


PROMISED = (log_normal, clocks_compute, clocks_memory, drift, clock_drift, outliers, autocorrelated, coarse_timer)
LOUD = (loud, heavy_tails, hidden_modes, strong_drift)


def processes_of(times, mhz):
    """What join.Series makes of a row, for all rows: medians of seconds, MHz and cycles by process."""
    rows = times.shape[0] * times.shape[1]
    seconds = np.median(times, axis=-1).reshape(rows, -1).astype(float)
    if mhz is None:
        nothing = np.full_like(seconds, np.nan)
        return seconds, nothing, nothing
    return seconds, np.median(mhz, axis=-1).reshape(rows, -1).astype(float), np.median(times * mhz, axis=-1).reshape(rows, -1) * 1e6


def judged(base, new, others=None):
    """Verdicts of suites x rows. others: p of the suites' other rows, where base and new are one row of each suite. Intervals, which take
    nearly all of the time, are made where they decide: for what may be an alarm, and for the rows whose truth is a change."""
    columns = base[0], new[0], base[1], new[1], base[2], new[2]
    found = statistics.from_processes(*columns, intervals=False)
    p = found.p.reshape(-1, ROWS) if others is None else np.column_stack([found.p, others])
    adjusted = decide.adjusted(p, axis=1)
    of = adjusted.ravel() if others is None else adjusted[:, 0]
    wanted = (of <= decide.ALPHA) | (others is not None)
    if wanted.any():
        part = statistics.from_processes(*(column[wanted] for column in columns))
        found.low[wanted], found.high[wanted] = part.low, part.high
    return decide.verdicts(found.ratio, found.low, found.high, of, decide.MIN_EFFECT, 0), p


def simulate(kind, seed):
    """Suites with a false alarm; of the slowed rows how many were called what; the scatter of process medians."""
    rng = np.random.default_rng(seed)
    alarms, verdicts, scatter = 0, [], []
    for _ in range(SUITES // CHUNK):
        when = rng.permuted(np.tile(np.arange(2 * PROCESSES), (CHUNK, 1)), axis=1) / (2 * PROCESSES)
        base, new = (processes_of(*kind(Session(rng, part))) for part in (when[:, :PROCESSES], when[:, PROCESSES:]))
        told, p = judged(base, new)
        alarms += int(np.isin(told, ["slower", "faster"]).reshape(-1, ROWS).any(axis=1).sum())
        first = [side[::ROWS] for side in base], [side[::ROWS] for side in new]
        slowed = [first[1][0] * SLOWED, first[1][1], first[1][2] * SLOWED]
        verdicts += list(judged(first[0], slowed, p[:, 1:])[0])
        scatter.append(np.std(np.log(base[0]), axis=1, ddof=1).mean())
    return alarms, {word: verdicts.count(word) for word in ("slower", "ambiguous", "same", "faster")}, float(np.mean(scatter))


def table_line(kind, alarms, verdicts, scatter):
    return (f"| {kind.__name__.replace('_', ' ')} | {100 * scatter:.1f}% | {alarms} | " +
            " | ".join(f"{verdicts[word] / SUITES:.1%}" for word in ("slower", "ambiguous", "same")) + " |")


class KnownTruth(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        kinds = PROMISED + LOUD
        with ProcessPoolExecutor(2) as pool:
            cls.results = dict(zip(kinds, pool.map(simulate, kinds, range(len(kinds)))))
        print("| noise | scatter of processes | suites of 1000 with a false alarm | 5% found | ambiguous | same |\n|---|---:|---:|---:|---:|---:|")
        for kind in kinds:
            print(table_line(kind, *cls.results[kind]), flush=True)

    def test_false_alarms(self):
        """At most one suite in a hundred, whatever the noise."""
        for kind, (alarms, verdicts, _) in self.results.items():
            with self.subTest(kind=kind.__name__):
                self.assertLessEqual(alarms, SUITES // 100)
                self.assertEqual(verdicts["faster"], 0)

    def test_found(self):
        """5% in the noise for which it is promised."""
        for kind in PROMISED:
            with self.subTest(kind=kind.__name__):
                self.assertGreaterEqual(self.results[kind][1]["slower"], 0.99 * SUITES)

    def test_never_called_same(self):
        """A slow-down that cannot be seen is ambiguous."""
        for kind, (_, verdicts, _) in self.results.items():
            with self.subTest(kind=kind.__name__):
                self.assertLessEqual(verdicts["same"], 0.01 * SUITES)

    def test_processes_that_are_too_few_need_the_noise_floor(self):
        """One process a side, known scatter: the floor alone keeps the suite's false alarms below 1%."""
        rng = np.random.default_rng(7)
        for count, spread in ((1, 0.01), (1, 0.05), (3, 0.02)):
            known = np.exp(spread * rng.standard_normal((SUITES, ROWS, 18)))
            sides = np.median(np.exp(spread * rng.standard_normal((2, SUITES, ROWS, count))), axis=-1)
            floor = decide.noise_floor(np.std(np.log(known), axis=-1, ddof=1), 17, count, count, ROWS)
            alarms = int((np.abs(np.log(sides[1] / sides[0])) >= np.log1p(np.maximum(floor, decide.MIN_EFFECT))).any(axis=1).sum())
            self.assertLessEqual(alarms, SUITES // 100, (count, spread))

    def test_a_suite_of_both_kinds(self):
        """Half of the rows from 10 processes a side, half from one, on a loud machine where nothing changed. The samples' p is next to 0 there;
        what was tested on processes must not be believed more easily for it, and the floor keeps the others quiet."""
        rng, half = np.random.default_rng(11), ROWS // 2
        many, spread = np.exp(0.08 * rng.standard_normal((2, SUITES * half, PROCESSES))), 0.08
        found = statistics.from_processes(*many)
        p_many = found.p.reshape(SUITES, half)
        levels = spread * rng.standard_normal((2, SUITES * half, 1))
        sides = np.exp(levels + 0.01 * rng.standard_normal((2, SUITES * half, SAMPLES)))
        p_few = statistics.u_test(*sides).reshape(SUITES, half)
        ratio = statistics.medians(sides[1]) / statistics.medians(sides[0])
        floor = decide.noise_floor(spread, np.inf, 1, 1, ROWS)

        def alarms(p_processes, p_samples):
            told = np.column_stack([decide.verdicts(found.ratio, found.low, found.high, p_processes.ravel(), decide.MIN_EFFECT, 0).reshape(SUITES, half),
                                    decide.verdicts(ratio, ratio, ratio, p_samples.ravel(), decide.MIN_EFFECT, floor).reshape(SUITES, half)])
            return int(np.isin(told, ["slower", "faster"]).any(axis=1).sum())
        self.assertGreater((p_few < decide.ALPHA).mean(), 0.8)
        self.assertLessEqual(alarms(*(decide.adjusted(p, axis=1, suite=ROWS) for p in (p_many, p_few))), SUITES // 100)
        together = decide.adjusted(np.column_stack([p_many, p_few]), axis=1)
        self.assertGreater(alarms(together[:, :half], together[:, half:]), SUITES // 20, "in one family they do alarm")

    def test_a_family_in_a_suite(self):
        """As if the rest of the suite had p = 1."""
        p = np.random.default_rng(12).random(30) ** 4
        self.assertTrue(np.allclose(decide.adjusted(p, suite=100), decide.adjusted(np.concatenate([p, np.ones(70)]))[:30]))

    def test_the_simulation_sees_a_bad_rule(self):
        """Without the correction for many tests and the least effect, noise of these kinds is a false alarm in most suites."""
        rng = np.random.default_rng(3)
        when = rng.permuted(np.tile(np.arange(2 * PROCESSES), (CHUNK, 1)), axis=1) / (2 * PROCESSES)
        base, new = (processes_of(*loud(Session(rng, part))) for part in (when[:, :PROCESSES], when[:, PROCESSES:]))
        p = statistics.from_processes(base[0], new[0]).p.reshape(-1, ROWS)
        self.assertGreater((p < 0.05).any(axis=1).mean(), 0.9)
        samples = [loud(Session(rng, part))[0].reshape(CHUNK * ROWS, -1)[:500] for part in (when[:, :PROCESSES], when[:, PROCESSES:])]
        pooled = statistics.u_test(*samples)  # all samples as if they were independent
        self.assertGreater((pooled < decide.ALPHA / ROWS).mean(), 0.01)


if __name__ == "__main__":
    begin = time.monotonic()
    good = unittest.main(exit=False, verbosity=2).result.wasSuccessful()
    print(f"{time.monotonic() - begin:.0f} s")
    sys.exit(not good)
