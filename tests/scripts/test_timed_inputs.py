"""Timed calls work on the family that the case names, drawn anew for each sample: two variants, in C and in Python, write down every input that
they are given, and NumPy says here what each of them is. Results kept from earlier calls are rejected where a seed changes nothing, too."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from program import BUILD, MUTANTS, RELEASE, expect, rows_of

N = 20011
KEPT = [
    "cpu_memo_three",
    "cpu_memo_sample",
    "cpu_replay_pointer",
    "cpu_stale",
    "peer_cheat_replay_content",
    "peer_cheat_replay_shape",
    "peer_last_result",
    "peer_result_by_address",
]
SAMPLES = "cpu_memo_sample"  # rightly passes where one of its 16 samples is among the elements that a set changes: 4 of 1,024 parts, 6% of runs


def recorded(verb, family, *options, n=N):
    """{"cpu": [input, ...], "peer": ...}: of the calls of one process each, in their order. The first is verified as the family is named."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [
                MUTANTS,
                verb,
                f"double n={n} input={family}",
                "--variants",
                "cpu_records_control,peer_records_control",
                "--no-ceilings",
                *options,
            ],
            capture_output=True,
            text=True,
            timeout=240,
            cwd=folder,
            env={**os.environ, "RUNGS_TEST_INPUTS": folder},
        )
        expect(done.returncode == 0, f"{verb} input={family}: both variants pass", done)
        files = {
            name: max(pathlib.Path(folder).glob(f"{name}-*"), key=lambda path: path.stat().st_size)
            for name in ("cpu", "peer")
        }
        return {name: np.fromfile(path).reshape(-1, n) for name, path in files.items()}


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
        all((np.diff(x) >= 0).all() and (x == np.round(x)).all() for x in later),
        f"ramp {name}: every timed input ascends in whole numbers",
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
    expect(all((x > 1).all() and (x <= 1.25).all() for x in later), f"ones {name}: every timed input is in (1, 1.25]")


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


def check_kept(folder, family, names=KEPT, tries=3):
    out = pathlib.Path(folder) / f"kept-{tries}.jsonl"
    done = subprocess.run(
        [
            MUTANTS,
            "run",
            f"double n=1000003 input={family}",
            "--variants",
            ",".join(names),
            "--quick",
            "--no-ceilings",
            "--out",
            out,
        ],
        capture_output=True,
        text=True,
        timeout=400,
        cwd=folder,
    )
    rows = {row["variant"].split("/")[1]: row for row in rows_of(out)}
    passed = [name for name in names if rows[name]["verdict"] != "fail" or rows[name]["timing"]]
    if passed == [SAMPLES] and tries > 1:
        return check_kept(folder, family, passed, tries - 1)
    expect(not passed, f"n=1000003 input={family}: kept results are rejected (not: {passed})", done)


def main():
    if not RELEASE:
        print("only Release builds take times")
        sys.exit(77)
    real = [("real:co2", check_real)] if importlib.util.find_spec("statsmodels") else []
    for family, check in (("ramp", check_ramp), ("ones", check_ones), ("naninf", check_naninf), *real):
        for name, inputs in recorded("run", family, "--quick").items():
            check(name, inputs)
            check_new_inputs(family, name, inputs)
    for name, inputs in recorded("benchmark", "ramp").items():
        check_ramp(f"{name}, called by Google Benchmark", inputs)
    with tempfile.TemporaryDirectory() as folder:
        for family in ("ramp", "ones", *(name for name, _ in real)):
            check_kept(folder, family)


if __name__ == "__main__":
    main()
