"""`rungs ab` on simulated machines whose noise is known: false alarms, and what of slow-downs is found; and whether the tables in
docs/data/gates.md are still what the simulation gives. With --full all of it; otherwise a few suites and a line of each table, with the same seeds."""

import dataclasses
import re
import sys
from concurrent.futures import ProcessPoolExecutor

import pytest
import numpy as np
from checkout import SOURCE
from noise_models import EXEMPT, MODELS, normal
from program import FULL
from real_suite import play
from simulated_suite import MIN_EFFECT, PROCESSES, ROWS, Stage, Suite, both_stages, simulate

from analysis import statistics
from analysis.compare import alike, common, decide, detect, together

sys.path.append(str(SOURCE / "tests/simulation"))
import gates  # noqa: E402

SUITES = 400 if FULL else 3


def simulated(name, seed):
    return simulate(MODELS[name], seed, SUITES)


@pytest.fixture(scope="module")
def results():
    with ProcessPoolExecutor(2) as pool:
        return dict(zip(MODELS, pool.map(simulated, MODELS, range(len(MODELS)))))


each_noise = pytest.mark.parametrize("name", MODELS)


@each_noise
def test_false_alarms(results, name):
    """At most one suite in a hundred, whatever the noise."""
    assert results[name]["alarms"] <= SUITES / 100


@pytest.mark.parametrize("name", [name for name in MODELS if name not in EXEMPT])
def test_found(results, name):
    """5% in 95% of suites, 10% in 99%; of a few suites, in all but one."""
    assert results[name]["found"][1.05] >= (0.95 * SUITES if FULL else SUITES - 1)
    assert results[name]["found"][1.10] >= (0.99 * SUITES if FULL else SUITES - 1)


STEADY = ("quiet", "processes", "2%", "5%", "clock falls", "two clocks of")


@pytest.mark.parametrize("name", [name for name in MODELS if name.startswith(STEADY)])
def test_all_together(results, name):
    """Rows that all change are no less found, where the machine holds still or most processes agree."""
    assert results[name]["all"] >= (0.95 * SUITES if FULL else SUITES - 1)


@each_noise
def test_never_called_same(results, name):
    """A slow-down that cannot be seen is ambiguous."""
    assert sum(results[name]["wrong"].values()) <= 0.02 * SUITES


@pytest.mark.parametrize("name", MODELS if FULL else ["machine 10% slower from the middle on"])
def test_the_real_ab_comes_to_the_same_verdicts(name):
    """The rows that `rungs ab` writes on such machines, judged by the `compare` that it starts. A row that needs the order to be found is found."""
    # as gates.py does for all of them
    real, simulated, second, promising = play(MODELS[name], list(MODELS).index(name), 1.1)
    assert (real, second) == (simulated, promising)
    assert name in EXEMPT or real[0] == "slower"


def test_many_changes():
    """Of rows that vary alike every third is faster: the real program decides as the simulation does."""
    real, simulated, second, promising = play(
        MODELS["families of 5 to 25 rows scatter by 3%, each row by 1%"], 3, 1 / 1.1, np.arange(0, 40, 3)
    )
    assert (real, second) == (simulated, promising)
    assert "faster" in real


def test_tables_are_not_stale():
    """Numbers may differ by two of a hundred: another CPU rounds otherwise. A gate that is not installed here keeps its cells."""
    text = gates.PAGE.read_text()
    suites = gates.committed_suites(text)
    pages = [gates.committed(text, section) for section in ("simulated_noise", "other_gates")]
    assert [list(page) for page in pages] == [list(MODELS)] * 2
    names = list(MODELS) if FULL else ["processes scatter by 2%"]
    with ProcessPoolExecutor(2) as pool:
        for name, made in zip(names, pool.map(gates.lines, names, [suites] * len(names))):
            for page, cells in zip(pages, made):
                assert len(page[name]) == len(cells)
                for here, there in ((c, p) for c, p in zip(cells, page[name]) if c is not None):
                    numbers = [np.array(re.findall(r"[\d.]+", told), float) for told in (here, there)]
                    assert len(numbers[0]) == len(numbers[1]), (name, here, there)
                    assert np.abs(numbers[0] - numbers[1]).max() <= 2, (name, here, there)


@pytest.mark.parametrize(
    "seed, name",
    list(
        enumerate(
            [
                "processes scatter by 1%",
                "processes scatter by 2%",
                "processes scatter by 4%",
                "2% of (row, process) pairs disturbed",
            ]
        )
    ),
)
def test_detectable(seed, name):
    """A slow-down of the size that a row is said to show is found in nine of ten suites or more, half of it in few."""
    rng, found, half = np.random.default_rng(seed), 0, 0
    count = 60 if FULL else 12
    for _ in range(count):
        first = Stage(rng, MODELS[name], np.arange(ROWS), PROCESSES, 0)
        level = decide.ALPHA * decide.share(True, 2, 1) / ROWS
        sides = first.times[0, ~first.is_new], first.times[0, first.is_new]
        size = detect.smallest(*sides, level, MIN_EFFECT, level / 4)
        found += bool(both_stages(rng, MODELS[name], first, [0], size)[0].verdicts[0] == "slower")
        half += bool(both_stages(rng, MODELS[name], first, [0], 1 + (size - 1) / 2)[0].verdicts[0] == "slower")
    assert found >= 0.85 * count
    assert half <= 0.5 * count


def test_pairs_needed():
    """By SciPy's p."""
    rng = np.random.default_rng(3)
    for base, new, p in ((10, 10, 1.8e-5), (10, 10, 0.01), (9, 12, 1e-4), (30, 30, 4e-6)):
        needed, sides = detect.pairs_needed(base, new, p), [rng.random((300, count)) for count in (base, new)]
        shifts = detect.shift_needed(np.log(sides[0]), np.log(sides[1]), p, -0.999)
        for shift, enough in ((1e-9, True), (-1e-9, False)):
            moved = np.log(sides[1]) + shifts[:, None] + shift
            told = statistics.u_test(np.log(sides[0]), moved) <= p
            assert (told == enough).all(), (base, new, p, needed)
    assert detect.pairs_needed(5, 5, 1e-09) == 25, "all pairs, where none is rare enough"


def test_many_that_got_faster_make_no_other_slower():
    """60 of 100 rows are 5% faster on a machine that steps: the others are not called slower for it."""
    rng, model = np.random.default_rng(9), MODELS["machine 10% slower from the middle on"]
    for _ in range(10):
        first = Stage(rng, model, np.arange(ROWS), PROCESSES, 0)
        assert "slower" not in Suite(first.slowed(np.arange(60), 1 / 1.05)).verdicts


def test_common_factor_and_slopes():
    """What is put in comes out; a slow row of one side changes neither."""
    rng = np.random.default_rng(4)
    is_new = rng.permutation(np.repeat([False, True], 10))
    factor, mhz = np.exp(0.1 * rng.standard_normal(20)), np.where(rng.random((40, 20)) < 0.5, 1700.0, 1980.0)
    exponents = np.linspace(0, 1, 40)[:, None]
    times = factor * (1980 / mhz) ** exponents * np.exp(0.002 * rng.standard_normal((40, 20)))
    times[7] *= np.where(is_new, 1.05, 1)
    logs = common.centred(np.log(times / factor), np.zeros(20))
    slopes = common.slope(common.centred(np.log(mhz), np.zeros(20)), logs)
    assert np.abs(slopes + exponents[:, 0]).max() < 0.08
    logs = common.centred(np.log(times), np.zeros(20))
    found = common.common_mode(common.without_clock(logs, mhz, np.zeros(20), is_new))
    assert np.std(found - np.log(factor)) < 0.03
    left, _ = common.adjust(logs, mhz, np.zeros(20), is_new)
    assert np.median(left[7, is_new]) - np.median(left[7, ~is_new]) == pytest.approx(np.log(1.05), abs=0.03)


def test_half_follow_the_clock():
    """The common factor of 50 rows that follow a clock and 50 that do not is that of neither half, and one slow row does not move it."""
    first = Stage(
        np.random.default_rng(14),
        MODELS["two clocks of processes 9% apart, recorded, half of the kernels follow"],
        np.arange(ROWS),
        PROCESSES,
        0,
    )
    for slow in ([], [0]):
        times = first.slowed(slow, 1.1).times
        _, found = common.adjust(common.centred(np.log(times), np.zeros(20)), first.mhz, np.zeros(20), first.is_new)
        assert np.abs(found).max() < 0.01
        assert np.abs(np.median(common.centred(np.log(times), np.zeros(20)), axis=0)).max() > 0.01


def test_rows_that_vary_alike():
    """What a family has in common is removed and a slow row stays slow; which side a process is of is not used; independent rows, and modes of one
    row, are not alike."""
    rng, name = np.random.default_rng(15), "families of 5 to 25 rows scatter by 3%, each row by 1%"
    first = Stage(rng, MODELS[name], np.arange(ROWS), PROCESSES, 0).slowed([0], 1.05)
    logs, kin = common.centred(np.log(first.times), np.zeros(20)), np.arange(ROWS)
    left, _ = alike.adjust(logs, np.zeros(20), kin)
    assert np.median(left[1:].std(axis=1)) < 0.5 * np.median(logs[1:].std(axis=1))
    assert np.median(left[0, first.is_new]) - np.median(left[0, ~first.is_new]) == pytest.approx(
        np.log(1.05), abs=0.025
    )
    order = rng.permutation(20)
    assert np.allclose(alike.without_alike(logs[:, order], kin)[0], alike.without_alike(logs, kin)[0][:, order])
    alone = normal(rng, 0.02, ROWS, 20)
    assert alike.adjust(alone, np.zeros(20), kin)[0] is None
    assert (
        alike.adjust(
            np.repeat(alone[:34], 3, axis=0) + normal(rng, 0.001, 102, 20), np.zeros(20), np.repeat(np.arange(34), 3)
        )[0]
        is None
    )


def test_rows_alike_that_all_change():
    """A family, or all that follow a clock, slower by 5%: never `same`, and no other row slower or faster for it."""
    rng = np.random.default_rng(16)
    families = "families of 5 to 25 rows scatter by 3%, each row by 1%"
    for name, rows in (
        (families, np.arange(5)),
        (families, np.arange(5, 15)),
        (
            "two clocks of processes 9% apart, not recorded, half of the kernels follow",
            np.flatnonzero(np.arange(ROWS) % 10 < 5),
        ),
    ):
        for _ in range(40 if FULL else 4):
            first = Stage(rng, MODELS[name], np.arange(ROWS), PROCESSES, 0).slowed(rows, 1.05)
            verdicts = Suite(first, whole=rows).verdicts
            assert not np.isin(verdicts[rows], ["same", "faster"]).any()
            assert not np.isin(np.delete(verdicts, rows), decide.CHANGES).any()


def test_rows_alike_of_which_a_third_changed():
    """Every third row 10% faster: the others are not called slower for it."""
    rng, told, wrong = np.random.default_rng(5), 0, 0
    model, rows, fast = (
        MODELS["families of 5 to 25 rows scatter by 3%, each row by 1%"],
        np.arange(40),
        np.arange(0, 40, 3),
    )
    for _ in range(25):
        suite = Suite(Stage(rng, model, rows, PROCESSES, 0).slowed(fast, 1 / 1.1), whole=rows)
        told += (suite.verdicts[fast] == "faster").sum()
        wrong += (np.delete(suite.verdicts, fast) == "slower").sum()
    assert told >= 0.9 * 25 * len(fast)
    assert wrong <= 0.02 * 25 * (len(rows) - len(fast))


def test_a_change_that_its_family_hides():
    """A row is 5% slower, and by chance its family is faster in those processes: its times alone seem the same, but it is not called so."""
    rng = np.random.default_rng(18)
    first = Stage(rng, MODELS["quiet: processes scatter by 0.5%"], np.arange(ROWS), PROCESSES, 0)
    family, other = normal(rng, 0.008, 2, 20) - 0.047 * first.is_new * np.array([[1], [0]])
    first.times = np.exp(np.where(np.arange(ROWS)[:, None] < 20, family, 3 * other) + normal(rng, 0.002, ROWS, 20))
    suite = Suite(first.slowed([0], 1.05), whole=[0])
    assert suite.contested[0]
    assert suite.verdicts[0] == "ambiguous"


def test_a_reference_that_changed():
    """One row is not called slower because all others, or those alike, became faster."""
    other = together.Together(None, False, 99, 0.95, 0.94, 0.96, 1e-5, "faster")
    assert together.doubted(other, np.array([1.05, 0.9])).tolist() == [True, False]
    assert not together.doubted(dataclasses.replace(other, ratio=0.995), np.array([1.05]))[0], "too little to matter"
    sides = np.exp(normal(np.random.default_rng(17), 0.01, 2, 1, 10))
    assert [bool(alike.doubted(sides[0], 0.95 * sides[1], np.array([ratio]))[0]) for ratio in (1.05, 0.9)] == [
        True,
        False,
    ]


def test_few_processes_need_the_noise_floor():
    """One process a side, known scatter: the floor alone keeps the suite's false alarms below 1%."""
    rng = np.random.default_rng(7)
    for count, spread in ((1, 0.01), (1, 0.05), (3, 0.02)):
        known = np.exp(spread * rng.standard_normal((1000, ROWS, 18)))
        sides = np.median(np.exp(spread * rng.standard_normal((2, 1000, ROWS, count))), axis=-1)
        floor = decide.noise_floor(np.std(np.log(known), axis=-1, ddof=1), 17, count, count, ROWS)
        alarms = int((np.abs(np.log(sides[1] / sides[0])) >= np.log1p(np.maximum(floor, MIN_EFFECT))).any(axis=1).sum())
        assert alarms <= 10, (count, spread)


def test_a_family_in_a_suite():
    """As if the rest of the suite had p = 1."""
    p = np.random.default_rng(12).random(30) ** 4
    assert np.allclose(decide.adjusted(p, suite=100), decide.adjusted(np.concatenate([p, np.ones(70)]))[:30])


def test_the_simulation_sees_a_bad_rule():
    """Without the correction for many tests, noise is a false alarm in most suites."""
    rng, alarms = np.random.default_rng(5), 0
    for _ in range(10):
        first = Stage(rng, MODELS["processes scatter by 4%"], np.arange(ROWS), PROCESSES, 0)
        alarms += bool((Suite(first).p[0] < 0.05).any())
    assert alarms >= 9
