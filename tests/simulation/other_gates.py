"""The same simulated suites, judged by other programs' rules and by this gate: the table "Other gates" of docs/COMPARISON.md.

    build/python/bin/python tests/simulation/other_gates.py [SUITES]     (100; PYTHONPATH with cuda-bench for nvbench's rule)

Each gets the times of 10 processes a side. Google Benchmark's tools/compare.py: Mann-Whitney U (SciPy) at 0.05. nvbench-compare-robust: its function
compare_gpu_timings, the process medians as samples, with clocks. asv compare: a factor of 1.1 between the medians. A false alarm is any row of 100
told slower or faster; a row 5% slower and a row 10% slower are found if told slower.
"""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "scripts"))
from noise_models import MODELS  # noqa: E402
from scipy import stats  # noqa: E402
from simulated_suite import PROCESSES, ROWS, Stage, simulate  # noqa: E402

SHOWN = [*list(MODELS)[:8], "two clocks of rows, kernels half follow", *list(MODELS)[-4:]]
SIZES = (1.05, 1.10)


def google_benchmark(base, new, *_):
    p = stats.mannwhitneyu(base, new, axis=1).pvalue
    return np.where(p >= 0.05, 0, np.sign(np.median(new, axis=1) - np.median(base, axis=1)))


def asv(base, new, *_):
    ratio = np.median(new, axis=1) / np.median(base, axis=1)
    return np.where(ratio > 1.1, 1, np.where(ratio < 1 / 1.1, -1, 0))


def nvbench():
    """None where cuda-bench is not installed."""
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
        mhz = np.where(np.isnan(mhz), 1980, mhz)  # without a clock it decides nothing: told of one that holds still
        return robust.GpuTimingData(
            minimum=times.min(), maximum=times.max(), mean=times.mean(), stdev=times.std(ddof=1), stdev_relative=times.std(ddof=1) / times.mean(),
            first_quartile=q1, median=q2, third_quartile=q3, interquartile_range=q3 - q1, interquartile_range_relative=(q3 - q1) / q2,
            sm_clock_rate_mean=float(mhz.mean() * 1e6), sample_source=Source(times), frequency_source=Source(mhz * 1e6))

    def judge(base, new, base_mhz, new_mhz):
        signs = {"SLOW": 1, "FAST": -1}
        return np.array([signs.get(robust.compare_gpu_timings(timing(b, f), timing(n, g)).status.value, 0)
                         for b, n, f, g in zip(base, new, base_mhz, new_mhz)])
    return judge


def run(judge, model, seed, suites):
    """(suites with a false alarm, suites in which the slow row was found by size), in percent"""
    rng, alarms, found = np.random.default_rng(seed), 0, dict.fromkeys(SIZES, 0)
    for _ in range(suites):
        stage = Stage(rng, model, ROWS, PROCESSES, 0)
        sides = [part[:, side] for part in (stage.times, stage.mhz) for side in (~stage.is_new, stage.is_new)]
        alarms += bool(judge(*sides).any())
        for size in SIZES:
            base, new, base_mhz, new_mhz = (part[:1] for part in sides)
            found[size] += bool(judge(base, size * new, base_mhz, new_mhz)[0] == 1)
    return "{:.0f} / {:.0f} / {:.0f}".format(*(100 * count / suites for count in (alarms, *found.values())))


def ours(model, seed, suites):
    told = simulate(model, seed, suites)
    return "{:.0f} / {:.0f} / {:.0f}".format(*(100 * count / suites for count in (told["alarms"], *(told["found"][size] for size in SIZES))))


def main(suites=100):
    gates = {"Google Benchmark": google_benchmark, "asv": asv, **({"nvbench": nvbench()} if nvbench() else {})}
    print(f"| noise | rungs | {' | '.join(gates)} |\n|---|---:{'|---:' * len(gates)}|")
    for seed, name in enumerate(SHOWN):
        cells = [ours(MODELS[name], seed, suites), *(run(judge, MODELS[name], seed, suites) for judge in gates.values())]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
