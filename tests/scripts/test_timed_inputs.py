"""Timed calls work on the family that the case names, drawn anew for each sample: two variants, in C and in Python, write down every input that
they are given, and NumPy says here what each of them is. Results kept from earlier calls are rejected where a seed changes nothing, too."""

import importlib.util
import os
import re

import numpy as np
import pytest

from program import BUILD, MUTANTS, call, expect, needs_release, rows_of

pytestmark = needs_release

N = 20011
POISONS = 3  # base/poison.h
KEPT = [
    "cpu_replay_pointer",
    "cpu_stale",
    "peer_cheat_replay_shape",
    "peer_last_result",
    "peer_result_by_address",
]
BY_CONTENT = ["cpu_memo_three", "cpu_memo_sample", "peer_cheat_replay_content"]


def recorded(folder, verb, family, *options, n=N):
    """{"cpu": [input, ...], "peer": ...}: of the calls of one process each, in their order. The first is verified as the family is named."""
    words = (f"double n={n} input={family}", "--variants", "cpu_records_control,peer_records_control", "--no-ceilings")
    environment = os.environ | {"RUNGS_TEST_INPUTS": str(folder)}
    done = call(verb, *words, *options, program=MUTANTS, cwd=folder, env=environment)
    expect(done.returncode == 0, f"{verb} input={family}: both variants pass", done)
    files = {name: max(folder.glob(f"{name}-*"), key=lambda path: path.stat().st_size) for name in ("cpu", "peer")}
    told = {name: np.fromfile(path).reshape(-1, n) for name, path in files.items()}
    verified = told["cpu"][:POISONS]  # of a library one call is enough
    expect(distinct(verified) == 1, f"{family}: one input is verified from each poison")
    return told | {"cpu": np.delete(told["cpu"], range(1, POISONS), axis=0)}


def distinct(inputs):
    return len({x.tobytes() for x in inputs})


def check_new_inputs(family, name, inputs):
    first, later = inputs[0], inputs[1:]
    expect(
        len(later) > 20 and distinct(later) > len(later) / 3,
        f"{family} {name}: {distinct(later)} different inputs in {len(later)} calls",
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        others = [x for x in (later[k] / first for k in range(len(later))) if np.nanmax(abs(x - 1)) > 0]
    spread = [np.nanmax(x) - np.nanmin(x) for x in others]
    expect(
        spread and min(spread) > 1e-5,
        f"{family} {name}: no input is another one times a number (the ratios differ by {min(spread):.2g} at least)",
    )


def check_ramp(name, inputs):
    first, later = inputs[0], inputs[1:]
    expect((first == np.arange(N)).all(), f"ramp {name}: the verified input is 0, 1, 2, ...")
    expect(
        all((np.diff(x) < 0).sum() <= 2 and (x == np.round(x)).all() for x in later),
        f"ramp {name}: every timed input ascends in whole numbers, but for a few that warm the caches",
    )
    expect(
        all(N - 1 - N / 512 <= x[-1] <= 1.13 * N and x[0] <= N / 512 for x in later),
        f"ramp {name}: from about 0 to about n",
    )
    anew = [x for x in later if (x != first).mean() > 0.1]
    expect(len(anew) > 2, f"ramp {name}: {len(anew)} of {len(later)} have other steps")


def check_ones(name, inputs):
    first, later = inputs[0], inputs[1:]
    expect((first == 1).all(), f"ones {name}: the verified input is 1 everywhere")
    expect(
        all(((x > 1) & (x <= 1.25)).mean() > 0.99 for x in later),
        f"ones {name}: every timed input is in (1, 1.25], but for a few elements",
    )


def check_real(name, inputs):
    first, later = inputs[0], inputs[1:]
    series = np.load(BUILD / "real" / "co2.npy")
    expect(
        np.array_equal(first, np.resize(series, N), equal_nan=True),
        f"real:co2 {name}: the verified input is the series, over and over",
    )
    expect(
        all((np.isnan(x) == np.isnan(first)).all() for x in later),
        f"real:co2 {name}: NaN are where they are in the series",
    )
    near = [np.mean((1 < x / first) & (x / first < 1.032) | np.isnan(first)) for x in later]
    expect(
        min(near) > 0.99,
        f"real:co2 {name}: every timed input is the series times 1 + d, d < 0.032, but for a few elements",
    )


def check_naninf(name, inputs):
    counts = {(np.isnan(x).sum(), (x == np.inf).sum(), (x == -np.inf).sum()) for x in inputs}
    expect(counts == {(1, 1, 1)}, f"naninf {name}: a NaN and an infinity of each sign in every input: {counts}")


needs_statsmodels = pytest.mark.skipif(not importlib.util.find_spec("statsmodels"), reason="needs statsmodels")
REAL = pytest.param("real:co2", marks=needs_statsmodels)
CHECKS = {"ramp": check_ramp, "ones": check_ones, "naninf": check_naninf, "real:co2": check_real}


@pytest.mark.parametrize("family", ["ramp", "ones", "naninf", REAL])
def test_every_timed_input_is_new_and_of_the_family(worker_folder, family):
    for name, inputs in recorded(worker_folder, "run", family, "--quick").items():
        CHECKS[family](name, inputs)
        check_new_inputs(family, name, inputs)


def test_google_benchmark_calls_with_such_inputs(worker_folder):
    for name, inputs in recorded(worker_folder, "benchmark", "ramp").items():
        check_ramp(name, inputs)


@pytest.mark.parametrize("family", ["ramp", "ones", REAL])
def test_kept_results_are_rejected(folder, family):
    out = folder / "kept.jsonl"
    words = ("--variants", ",".join(KEPT), "--quick", "--no-ceilings", "--out", out)
    done = call("run", f"double n=1000003 input={family}", *words, program=MUTANTS, cwd=folder, timeout=400)
    names = [row["variant"] for row in rows_of(out) if row["verdict"] != "fail" or row["timing"]]
    expect(not names, f"kept results are rejected (not: {names})", done)


@pytest.mark.parametrize("name", BY_CONTENT)
@pytest.mark.parametrize("family", ["ramp", "ones", REAL])
def test_results_kept_by_content_are_rejected(folder, family, name):
    """Of short calls, which find inputs that differ in few elements, now and then in cold, too; longer ones have a sample each, and compute."""
    out = folder / "content.jsonl"
    for _ in range(5):  # a sample on a busy machine may have one call
        words = ("--variants", name, "--quick", "--no-ceilings", "--out", out)
        done = call("run", f"double n=2003 input={family}", *words, program=MUTANTS, cwd=folder)
        row = rows_of(out)[-1]
        if row["verdict"] == "fail":
            break
    expect(re.search("in timing, (cold|hot) sample", row["reason"] or ""), f"rejected: {row['reason']}", done)


# Cheats that compute in time: each gained three times or more before the harness knew of it. Of what: an honest variant, case, mode.
NO_GAIN = {
    "cpu_cheat_windows": ("cpu_reverse_control", "rolling n=20011 window=300 input=alternating", "hot"),
    "peer_cheat_last_of_sample": ("peer_right", "double n=5003 input=normal", "hot"),
    "peer_cheat_finalizer": ("peer_right", "double n=1e6 input=normal", "cold"),
    "peer_cheat_garbage": ("peer_right", "double n=1e6 input=normal", "cold"),
    "peer_cheat_signal_gone": ("peer_right", "double n=1e6 input=normal", "cold"),
    "peer_cheat_native_hook": ("peer_right", "double n=1e6 input=normal", "cold"),
    "peer_cheat_native_detour": ("peer_right", "double n=1e6 input=normal", "cold"),
}


@pytest.mark.parametrize("cheat", NO_GAIN)
def test_what_would_spare_work_spares_none(folder, cheat):
    out, (honest, case, mode) = folder / "gain.jsonl", NO_GAIN[cheat]
    for _ in range(3):  # other programs may slow the honest one down
        out.unlink(missing_ok=True)
        words = ("--variants", f"{honest},{cheat}", "--quick", "--no-ceilings", "--out", out)
        done = call("run", case, *words, program=MUTANTS, cwd=folder)
        rows = {row["variant"].split("/")[1]: row for row in rows_of(out)}
        times = {name: row["timing"][mode]["median"] for name, row in rows.items() if row["verdict"] == "pass"}
        if cheat not in times or times[cheat] > times[honest] / 2:
            break
    expect(cheat not in times or times[cheat] > times[honest] / 2, f"{cheat} gains nothing: {times}", done)
