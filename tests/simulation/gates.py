"""Simulated suites of `rungs ab`, judged by this gate and by the rules of other programs: two tables of docs/data/gates.md.

    build/python/bin/python tests/simulation/gates.py [--suites N] [--update docs/data/gates.md]

Every gate sees the times of 10 processes a side. A false alarm is any of 100 rows called slower or faster; row 0, made 5% or 10% slower, is found if it
is called slower. One suite of each noise goes through the real `rungs ab`: its verdicts have to be those of the simulation. nvbench's rule needs
cuda-bench (PyPI); without it --update keeps the cells that the page has.
"""

import argparse
import os
import pathlib
import re
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/scripts"), str(ROOT)]
os.environ.setdefault("RUNGS_BUILD", str(ROOT / "build/release"))
os.environ.setdefault("RUNGS", os.environ["RUNGS_BUILD"] + "/bin/rungs")
import marked  # noqa: E402
import real_suite  # noqa: E402
from noise_models import MODELS  # noqa: E402
from scipy import stats  # noqa: E402
from simulated_suite import PROCESSES, ROWS, Stage, simulate  # noqa: E402


PAGE = ROOT / "docs/data/gates.md"
NOISE_HEAD = """| noise | suites with a false alarm | 5% found | 10% found | a slow row called `same` or `faster` | all rows 5% slower: noticed | rows of 100 in the second stage |
|---|---:|---:|---:|---:|---:|---:|"""


def google_benchmark(base, new, *_):
    """tools/compare.py: Mann-Whitney U at 0.05."""
    p = stats.mannwhitneyu(base, new, axis=1).pvalue
    return np.where(p >= 0.05, 0, np.sign(np.median(new, axis=1) - np.median(base, axis=1)))


def asv(base, new, *_):
    """asv compare: a factor of 1.1 between the medians."""
    ratio = np.median(new, axis=1) / np.median(base, axis=1)
    return np.where(ratio > 1.1, 1, np.where(ratio < 1 / 1.1, -1, 0))


def make_nvbench():
    """nvbench-compare-robust: its function compare_gpu_timings. None where cuda-bench is not installed."""
    try:
        from cuda.bench.scripts import nvbench_compare_robust as robust
    except ImportError:
        return None
    robust.load_nvbench_compare_tooling(load_color=False)

    class Source:
        def __init__(self, values):
            self.values, self.count = np.asarray(values, np.float32), len(values)

        def has_material_payload(self):
            return True

    def timing(times, mhz):
        q1, q2, q3 = np.percentile(times, [25, 50, 75])
        mhz = np.where(
            np.isnan(mhz), 1980, mhz
        )  # a steady clock where the noise has none: without one it decides nothing
        return robust.GpuTimingData(
            minimum=times.min(),
            maximum=times.max(),
            mean=times.mean(),
            stdev=times.std(ddof=1),
            stdev_relative=times.std(ddof=1) / times.mean(),
            first_quartile=q1,
            median=q2,
            third_quartile=q3,
            interquartile_range=q3 - q1,
            interquartile_range_relative=(q3 - q1) / q2,
            sm_clock_rate_mean=float(mhz.mean() * 1e6),
            sample_source=Source(times),
            frequency_source=Source(mhz * 1e6),
        )

    def judge(base, new, base_mhz, new_mhz):
        signs = {"SLOW": 1, "FAST": -1}
        return np.array(
            [
                signs.get(robust.compare_gpu_timings(timing(b, f), timing(n, g)).status.value, 0)
                for b, n, f, g in zip(base, new, base_mhz, new_mhz)
            ]
        )

    return judge


GATES = {"Google Benchmark": google_benchmark, "asv": asv, "nvbench": make_nvbench()}


def cell(suites, alarms, found):
    return " / ".join(f"{100 * count / suites:.0f}" for count in (alarms, *found))


def judged_by(judge, name, suites):
    rng, alarms, found = np.random.default_rng(list(MODELS).index(name)), 0, {1.05: 0, 1.10: 0}
    for _ in range(suites):
        stage = Stage(rng, MODELS[name], np.arange(ROWS), PROCESSES, 0)
        sides = [part[:, side] for part in (stage.times, stage.mhz) for side in (~stage.is_new, stage.is_new)]
        alarms += bool(judge(*sides).any())
        for size in found:
            base, new, base_mhz, new_mhz = (part[:1] for part in sides)
            found[size] += bool(judge(base, size * new, base_mhz, new_mhz)[0] == 1)
    return cell(suites, alarms, found.values())


def lines(name, suites):
    """Cells of the two tables for one kind of noise. None: its program is not installed."""
    told = simulate(MODELS[name], list(MODELS).index(name), suites)
    noise = [
        f"{told['alarms'] / suites:.1%}",
        f"{told['found'][1.05] / suites:.1%}",
        f"{told['found'][1.10] / suites:.1%}",
        f"{sum(told['wrong'].values()) / 2 / suites:.1%}",
        f"{told['all'] / suites:.0%}",
        f"{told['again'] / suites:.1f}",
    ]
    others = [judge and judged_by(judge, name, suites) for judge in GATES.values()]
    return noise, [cell(suites, told["alarms"], told["found"].values()), *others]


def differs(name):
    """Does the real `rungs ab` come to other verdicts than the simulation?"""
    real, simulated, second, promising = real_suite.play(MODELS[name], list(MODELS).index(name), 1.10)
    return (real, second) != (simulated, promising)


def committed(text, section):
    """Noise -> cells of that table in the page."""
    start, end = marked.part(text, section)
    rows = [
        line.strip("| ").split(" | ")
        for line in text[start:end].splitlines()
        if line.startswith("| ") and not line.startswith("| noise")
    ]
    return {row[0]: row[1:] for row in rows}


def committed_suites(text):
    return int(re.search(r"\((\d+) suites of each noise", text).group(1))


def tables(suites, text):
    with ProcessPoolExecutor(2) as pool:
        found = dict(zip(MODELS, pool.map(lines, MODELS, [suites] * len(MODELS))))
        others = [name for name, other in zip(MODELS, pool.map(differs, MODELS)) if other]
    if others:
        sys.exit("the real `rungs ab` comes to other verdicts than the simulation: " + "; ".join(others))
    kept = committed(text, "other_gates")
    noise, gates = [NOISE_HEAD], [f"| noise | rungs | {' | '.join(GATES)} |\n|---|---:{'|---:' * len(GATES)}|"]
    for name, (own, others) in found.items():
        noise.append(f"| {name} | {' | '.join(own)} |")
        gates.append(
            f"| {name} | {' | '.join(new or old for new, old in zip(others, kept.get(name, ['-'] * len(others))))} |"
        )
    head = f"({suites} suites of each noise. One of each, of {real_suite.ROWS} rows, went through the real `rungs ab`, with the same verdicts.)\n\n"
    return {"simulated_noise": head + "\n".join(noise), "other_gates": "\n".join(gates)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--suites", type=int, default=100)
    parser.add_argument("--update", type=pathlib.Path)
    args = parser.parse_args()
    text = PAGE.read_text()
    told = tables(args.suites, text)
    if args.update:
        marked.fill(args.update, told)
    else:
        print("\n\n".join(told.values()))


if __name__ == "__main__":
    main()
