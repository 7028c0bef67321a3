"""The search of `rungs bisect` on simulated histories of 64 commits, one of which is 5% slower, with 2% scatter from process to process: right in 95% of
them within eight comparisons. The noise is made here: normal, with heavy tails, or drifting, and no commit is quite as fast as another."""

import numpy as np
import pytest

pytest.importorskip("scipy")
from program import HAS_GPU, call, expect_error

from analysis.compare.bisect import SURE, Search

COMMITS, SLOWER, SCATTER, COMPARISONS, PROCESSES, HISTORIES = 64, 0.05, 0.02, 8, 10, 200


def normal(rng, count):
    return rng.normal(0, SCATTER, count)


def heavy(rng, count):
    """A process of 20 is disturbed."""
    return rng.normal(0, SCATTER, count) + np.where(rng.random(count) < 0.05, rng.exponential(0.1, count), 0)


def drifting(rng, count):
    """In turns both sides drift alike, so that half of the scatter is common to neighbours."""
    return rng.normal(0, SCATTER, count) + np.cumsum(rng.normal(0, SCATTER / 10, count))


def history(rng, noise, skipped=()):
    """-> (is the right commit named?, is the search sure?, comparisons)"""
    guilty = int(rng.integers(1, COMMITS + 1))
    speeds = rng.normal(0, SCATTER / 20, COMMITS + 1) + np.where(np.arange(COMMITS + 1) >= guilty, np.log1p(SLOWER), 0)
    search, made = Search(COMMITS), 0
    while made < COMPARISONS and search.suspects()[1] < SURE:
        commit = search.next()
        if commit in skipped:
            search.left_out.add(commit)
            continue
        search.add(commit, speeds[0] + noise(rng, PROCESSES), speeds[commit] + noise(rng, PROCESSES))
        made += 1
    named, sure = search.suspects()
    return guilty in named and len(named) == 1 + len(set(named) & set(skipped)), sure >= SURE, made


@pytest.mark.parametrize("noise, least", [(normal, 0.95), (heavy, 0.92), (drifting, 0.92)])  # the last two scatter more
def test_right_in_95_percent(noise, least):
    rng = np.random.default_rng(5)
    found = [history(rng, noise) for _ in range(HISTORIES)]
    right = np.mean([ok for ok, *_ in found])
    assert right >= least, f"{noise.__name__}: {right}"
    wrong = np.mean([not ok for ok, sure, _ in found if sure])
    assert wrong <= 1 - SURE, f"{noise.__name__}: {wrong} of those that are sure"


def test_commits_that_do_not_build():
    """They are named together with the next that does: nothing tells them apart."""
    rng, skipped = np.random.default_rng(7), {20, 21, 40}
    assert np.mean([history(rng, normal, skipped)[0] for _ in range(HISTORIES)]) >= 0.95


def test_it_says_when_it_is_not_sure():
    """At ten times the scatter no eight comparisons tell; a probability is as often right as it says."""
    rng = np.random.default_rng(9)
    found = [history(rng, lambda rng, count: 4 * normal(rng, count)) for _ in range(HISTORIES)]
    assert np.mean([sure for _, sure, _ in found]) < 0.5
    assert np.mean([sure and not ok for ok, sure, _ in found]) < 0.03


def test_bad_words(folder):
    (folder / "rows").touch()
    words = ("bisect", "HEAD", "HEAD", "double n=1000")
    expect_error(call(*words, "--out", folder), 2, "is no earlier commit on the line of")
    expect_error(call("bisect", "HEAD~1", "HEAD"), 2, "two commits and a scenario or a case are expected")
    expect_error(call("bisect", "HEAD~1", "HEAD", "double", "--repetitions", "3"), 2, "at least 9 are needed")
    if not HAS_GPU:  # said before anything is built
        words = ("bisect", "HEAD~1", "HEAD", "double n=1000", "--variants", "cuda_*")
        expect_error(call(*words), 3, "nothing would be timed: 2 of 2 rows need a GPU")
