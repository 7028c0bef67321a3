"""Writes invented results for tests and for looking at figures: never measured, never to be put into results/.

make_rows.py small > rows.jsonl     one of each kind of line, what tests/golden/rows.jsonl holds
make_rows.py gpu|laptop > x.jsonl   as large as a real run on a GPU, or on a machine without one
"""

import json
import math
import random
import statistics
import sys

COPY = 4.19e12
HIGHER = {"mean": 1.0, "sum": 1.0, "var": 1.3, "std": 1.3, "min": 1.05, "max": 1.05}
FAMILIES = [
    "uniform",
    "normal",
    "ramp",
    "constant",
    "offset1e3",
    "offset1e6",
    "offset1e8",
    "spike1e16",
    "alternating",
    "nan",
    "inf",
    "real:co2",
]

# variant, tunables, seconds for n = 1e8 in float64 as a function of the window
LADDER = [
    ("cpu_naive", {}, lambda w: 0.05 + 0.035 * w),
    ("cpu_online", {}, lambda w: 0.62),
    ("cpu_best", {}, lambda w: 0.075),
    ("cuda_naive", {"threads": 128}, lambda w: 0.45e-3 + 0.1065e-3 * w),
    ("cuda_shared", {"threads": 128}, lambda w: 1.0e-3 + 0.0848e-3 * w),
    ("cuda_thread_tile", {"threads": 64, "tile": 48}, lambda w: 2.36e-3 + 8.3e-6 * w),
    ("cuda_thread_tile_stable", {"threads": 64, "tile": 48}, lambda w: 3.1e-3 + 9.9e-6 * w),
    ("cuda_thread_tile_conflict_free", {"threads": 64, "tile": 47}, lambda w: 0.95e-3 + 5.2e-6 * w),
    ("cuda_prefix_difference", {}, lambda w: 1.21e-3),
    ("cuda_block_prefix_suffix", {"threads": 256}, lambda w: 0.62e-3 + 1e-9 * w),
    ("peer_pandas", {}, lambda w: 0.78),
    ("peer_numba_cpu", {}, lambda w: 0.11),
    ("peer_numba_cuda", {"threads": 64, "tile": 48}, lambda w: 2.39e-3 + 8.4e-6 * w),
    ("peer_cupy", {}, lambda w: 0.9e-3 + 0.1372e-3 * w),
    ("peer_torch", {}, lambda w: 1.54e-3),
]

GPU = {
    "name": "NVIDIA H200",
    "uuid": "GPU-00000000-0000-0000-0000-000000000000",
    "compute_capability": "9.0",
    "sm_count": 132,
    "l2_bytes": 62914560,
    "memory_bytes": 150754820096,
    "shared_bytes_per_block": 232448,
    "driver": "580.95.05",
    "runtime": "13.0",
    "clocks_sm_max": 1980,
    "clocks_memory_max": 3201,
    "power_cap_watts": 700,
    "ecc": True,
    "mig": False,
}


def environment(run, gpu):
    return {
        "kind": "environment",
        "schema": 1,
        "run": run,
        "date": "2026-01-02T03:04:05Z",
        "commit": "0123456789abcdef0123456789abcdef01234567",
        "dirty": False,
        "argv": ["rungs", "reproduce", "--budget", "10m"],
        "build": {
            "type": "Release",
            "compiler": "GNU 12.2.0",
            "flags": "-O3 -DNDEBUG",
            "cuda_compiler": "nvcc 13.0.88" if gpu else None,
            "cuda_flags": "-std=c++20 -O3" if gpu else None,
            "cuda_architectures": "90" if gpu else None,
        },
        "cpu": {
            "model": "Example CPU 9000",
            "cores": 16,
            "threads": 16,
            "llc_bytes": 33554432,
            "memory_bytes": 137438953472,
        },
        "gpu": GPU if gpu else None,
        "gpu_reason": None if gpu else "nvidia-smi cannot be run: No such file or directory",
        "os": "Debian GNU/Linux 12 (bookworm), Linux 6.1.0 x86_64",
        "container": None,
        "variables": {"OMP_NUM_THREADS": "16"},
        "python": {"version": "3.11.2", "packages": {"numpy": "2.3.5", "pandas": "2.3.3", "numba": "0.62.1"}},
        "id": "00112233445566aa" if gpu else "00112233445566bb",
    }


def ceilings(run, device):
    if device == "cuda":
        values = [
            ("copy", "B/s", COPY),
            ("read", "B/s", 4.5e12),
            ("write", "B/s", 4.35e12),
            ("fma_f32", "flop/s", 6.1e13),
            ("fma_f64", "flop/s", 3.1e13),
            ("empty_launch", "s", 4.6e-6),
            ("empty_graph", "s", 5.6e-7),
        ]
    else:
        values = [("copy", "B/s", 1.6e11), ("read", "B/s", 2.1e11)]
    return {
        "kind": "ceilings",
        "schema": 1,
        "run": run,
        "device": device,
        "ceilings": [
            {
                "name": n,
                "unit": u,
                "value": v,
                "low": 0.99 * v,
                "high": 1.01 * v,
                "bytes": 1 << 30 if u != "s" else None,
                "method": "best of several configurations, median of 21",
            }
            for n, u, v in values
        ],
    }


def mode(rng, seconds, count=21, clock="cuda events", mhz=True):
    samples = [seconds * (1 + abs(rng.gauss(0, 0.008))) for _ in range(count)]
    order = sorted(samples)
    quarter = statistics.quantiles(samples, n=4, method="inclusive") if count > 1 else [order[0]] * 3
    return {
        "count": count,
        "median": statistics.median(samples),
        "min": order[0],
        "max": order[-1],
        "q1": quarter[0],
        "q3": quarter[2],
        "low": order[int(0.25 * count)],
        "high": order[int(0.75 * count)],
        "samples": samples,
        "sm_mhz": [1980] * count if mhz else None,
        "calls_per_sample": 1,
        "clock": clock,
        "why_none": None,
    }


def no_mode(why):
    return {
        "count": 0,
        "median": None,
        "min": None,
        "max": None,
        "q1": None,
        "q3": None,
        "low": None,
        "high": None,
        "samples": [],
        "sm_mhz": None,
        "calls_per_sample": 1,
        "clock": None,
        "why_none": why,
    }


def timing(rng, seconds, backend, device_clock):
    if device_clock:
        times = {
            "cold": mode(rng, seconds),
            "hot": mode(rng, 0.985 * seconds),
            "graph": mode(rng, 0.98 * seconds),
            "enqueue": mode(rng, 6e-6, clock="steady clock", mhz=False),
            "complete": mode(random.Random(3), seconds + 9e-6, clock="steady clock", mhz=False),
        }
        if backend == "peer":
            times["graph"] = no_mode("the library's call cannot be captured")
    else:
        times = {
            "cold": mode(rng, seconds, 9, "steady clock", False),
            "hot": mode(rng, 0.9 * seconds, 9, "steady clock", False),
            "graph": no_mode("runs on the CPU"),
            "enqueue": no_mode("runs on the CPU"),
            "complete": no_mode("runs on the CPU"),
        }
    times["first"] = mode(rng, seconds + 0.01, 1, "steady clock", False)
    return times


def base_row(run, scenario, params, dtype, family, variant, tunables, backend):
    text = "rolling " + " ".join(f"{k}={v}" for k, v in params.items()) + f" dtype={dtype} input={family} seed=1"
    spec = " ".join(["rolling/" + variant] + [f"{k}={v}" for k, v in tunables.items()])
    size = 8 if dtype == "f64" else 4
    return {
        "kind": "row",
        "schema": 1,
        "run": run,
        "scenario": scenario,
        "case": text,
        "op": "rolling",
        "params": params,
        "dtype": dtype,
        "input": family,
        "seed": 1,
        "variant": "rolling/" + variant,
        "tunables": tunables,
        "spec": spec,
        "backend": backend,
        "verdict": "pass",
        "reason": None,
        "bound": {"name": "strict", "formula": "2 (w + 16) u mean|x| over the window", "declared": False},
        "errors": None,
        "reverified": None,
        "work": {"bytes": 2.0 * size * params["n"], "flops": float(params["n"] * params["window"])},
        "timing": None,
        "why_not_timed": None,
        "prepare_seconds": None,
        "counts": None,
        "counts_reason": "not counted yet",
        "baseline": "rolling/cuda_naive",
        "seconds_spent": 1.25,
    }


def errors(params, ratio, dtype, incomparable=0):
    u = 2.0**-53 if dtype == "f64" else 2.0**-24
    relative = ratio * 40 * u
    return {
        "y": {
            "count": params["n"],
            "max_absolute": relative,
            "max_relative": 3 * relative,
            "l2_relative": relative / 3,
            "max_ulp": 80 * ratio,
            "max_ratio": None if incomparable else ratio,
            "incomparable": incomparable,
            "unwritten": 0,
            "worst": 17,
            "worst_truth": (1.0 / 3).hex(),
            "worst_actual": "nan" if incomparable else (1.0 / 3 + relative).hex(),
            "worst_tolerance": (40 * u).hex(),
        }
    }


def ratio_of(variant, agg, family, window):
    """How wrong each variant is, in units of its bound; NaN: wrong beyond comparison."""
    squares = agg in ("var", "std")
    if variant == "cuda_prefix_difference" or (variant == "peer_torch"):
        if family in ("nan", "inf"):
            return math.nan
        return {
            "offset1e3": 40,
            "offset1e6": 4e4,
            "offset1e8": 4e6,
            "spike1e16": 3e9,
            "ramp": 30 if window > 300 else 0.6,
        }.get(family, 0.4 if not squares else 1.7)
    if variant in ("cuda_thread_tile", "peer_numba_cuda", "cuda_thread_tile_conflict_free"):
        if family in ("nan", "inf"):
            return math.nan
        if squares and family.startswith("offset"):
            return {"offset1e3": 70, "offset1e6": 8e7, "offset1e8": 6e12}[family]
        if family == "spike1e16":
            return 5e11
        return 0.12
    if agg in ("min", "max"):
        return 0.0
    return {"cpu_naive": 0.02, "cpu_online": 0.2}.get(variant, 0.04) * (1 + math.log10(window) / 4)


def measured_row(rng, run, scenario, params, dtype, family, entry, gpu, timed=True):
    variant, tunables, seconds_of = entry
    agg, n, window = params["agg"], params["n"], params["window"]
    backend = variant.split("_")[0]
    on_gpu = backend == "cuda" or variant in ("peer_numba_cuda", "peer_cupy", "peer_torch")
    if backend == "cuda" and not gpu:
        backend = "emulator"
    row = base_row(run, scenario, params, dtype, family, variant, tunables, backend)
    why = None
    if variant == "peer_torch" and agg not in ("mean", "sum"):
        why = f"no {agg} from a difference of cumulative sums"
    elif variant == "cuda_prefix_difference" and agg in ("min", "max"):
        why = f"{agg} has no inverse, so a difference of prefixes cannot give it"
    elif variant.startswith("cuda_thread_tile") and window > 25985:
        why = "needs more shared memory than a block may have (232448 bytes)"
    elif backend == "peer" and on_gpu and not gpu:
        why = "no GPU here"
    if why:
        row.update(verdict="skip", reason=why, why_not_timed="skipped", bound=None, work=None)
        return row
    if variant == "cpu_naive" and n * window > 5e10:
        row.update(verdict="error", reason="no answer within 60 s: the worker was ended", why_not_timed="error")
        return row
    ratio = ratio_of(variant, agg, family, window) * rng.uniform(0.8, 1.2)
    row["errors"] = errors(params, 1.0 if math.isnan(ratio) else ratio, dtype, 12 if math.isnan(ratio) else 0)
    if not ratio <= 1:
        found = row["errors"]["y"]
        row.update(
            verdict="fail",
            why_not_timed="failed verification",
            reason=f"y[17] is {found['worst_actual']}, expected {found['worst_truth']} within {found['worst_tolerance']}",
        )
        return row
    seconds = (
        seconds_of(window)
        * n
        / 1e8
        * HIGHER[agg]
        * (0.55 if dtype == "f32" and window < 100 else 0.8 if dtype == "f32" else 1)
    )
    if backend == "emulator":
        row["why_not_timed"] = "emulated"
    elif not timed:
        row["why_not_timed"] = "verify only"
    else:
        row.update(timing=timing(rng, seconds, backend, on_gpu), reverified=True)
        if variant.startswith("peer_numba"):
            row["prepare_seconds"] = 0.82
    return row


def held(row, seconds):
    """With rates, and a limit that the row's device needs for its bytes when cold or hot."""
    size = row["work"]["bytes"] / 2
    row["work"]["elements"] = float(row["params"]["n"])
    for name, timed in row["timing"].items():
        median = timed["median"]
        limit = (
            {
                "seconds": seconds,
                "bytes_read": size,
                "bytes_written": size,
                "kernel": "kernel, 1 x 16 bytes per thread, 256 threads",
                "share": seconds / median,
            }
            if median and name != "first"
            else None
        )
        timed.update(
            bytes_per_second=row["work"]["bytes"] / median if median else None,
            elements_per_second=row["params"]["n"] / median if median else None,
            limit=limit,
        )
    return {**row, "limit_reason": None}


def declared_row(rng, run, params, entry, gpu):
    row = measured_row(rng, run, "accuracy/declared", params, "f64", "offset1e8", (entry[0] + "@", *entry[1:]), gpu)
    text = json.loads(json.dumps(row).replace("@", ""))
    ratio = ratio_of(entry[0], params["agg"], "offset1e8", params["window"])
    bound = {"name": "textbook" if params["agg"] == "var" else "prefix", "formula": "c n u max|x|^2", "declared": True}
    return {**text, "errors": {"y": {**errors(params, ratio, "f64")["y"], "max_ratio": 0.3}}, "bound": bound}


FACTOR = 1.4


def claim(run, id_, value, variant, baseline, outcome, here, **more):
    unit = "x" if baseline else "s"
    return {
        "kind": "claim",
        "schema": 1,
        "run": run,
        "id": id_,
        "op": "rolling",
        "claim_kind": "statement",
        "program": "reimplementation",
        "statement": f"{variant} is {value}x faster than {baseline}" if baseline else f"{variant} takes {value} s",
        "source": "an example tutorial",
        "hardware": "NVIDIA P100",
        "method": "wall clock around one call",
        "note": None,
        "scenario": "published/rolling",
        "published": value,
        "quantity": "speedup" if baseline else "seconds",
        "unit": unit,
        "case": "rolling agg=mean n=1000000000 window=3000 incomplete=nan dtype=f64 input=ramp seed=1",
        "variant": "rolling/" + variant,
        "baseline": "rolling/" + baseline if baseline else None,
        "mode": "cold",
        "baseline_case": None,
        "baseline_mode": None,
        "output": None,
        "rule": "about" if baseline else "shown",
        "factor": FACTOR if baseline else None,
        "band_low": value / FACTOR if baseline else None,
        "band_high": value * FACTOR if baseline else None,
        "reason": "other hardware" if baseline else None,
        "expected": f"about {value}, within a factor of {FACTOR}" if baseline else f"{value} s on other hardware",
        "outcome": outcome,
        "here": here,
        "low": None if here is None else 0.98 * here,
        "high": None if here is None else 1.02 * here,
        "processes": 0 if here is None else 5,
        "provisional": False,
        "why": "no row of this case was timed in this run" if here is None else f"{here:.4g} {unit} here",
        **more,
    }


def judge(run, rows, id_, value, variant, baseline, **more):
    """From the invented rows, as the program does from measured ones."""
    mine = [
        r
        for r in rows
        if r["timing"]
        and r["params"]["n"] == 10**9
        and r["params"]["window"] == 3000
        and r["scenario"] == "published/rolling"
    ]

    def time(spec):
        return next((r["timing"]["cold"]["median"] for r in mine if r["spec"] == "rolling/" + spec), None)

    top, bottom = (time(baseline) if baseline else time(variant)), (time(variant) if baseline else 1.0)
    here = top / bottom if top and bottom else None
    inside = here is not None and value / FACTOR <= here <= value * FACTOR
    outcome = (
        "not_run"
        if here is None
        else "not_testable"
        if not baseline
        else "holds"
        if inside
        else "direction"
        if here > 1
        else "fails"
    )
    return claim(run, id_, value, variant, baseline, outcome, here, **more)


def full(gpu):
    rng, run = random.Random(7), "20260102T030405Z-00000001" if gpu else "20260102T030405Z-00000002"
    lines = [environment(run, gpu), ceilings(run, "cpu")] + ([ceilings(run, "cuda")] if gpu else [])
    rows = []
    shrink = 1 if gpu else 5000
    for n in (10**9, 10**8):
        for window in (4, 3000):
            params = {"agg": "mean", "n": n // shrink, "window": window, "incomplete": "nan"}
            rows += [measured_row(rng, run, "published/rolling", params, "f64", "ramp", e, gpu) for e in LADDER]
    for dtype in ("f64", "f32"):
        for agg in ("mean", "var", "min"):
            for window in (4, 30, 300, 3000, 20000):
                params = {"agg": agg, "n": 10**8 // shrink, "window": window, "incomplete": "nan"}
                rows += [measured_row(rng, run, "sweeps/rolling", params, dtype, "normal", e, gpu) for e in LADDER]
    for dtype in ("f64", "f32"):
        for agg in ("mean", "var", "min"):
            for family in FAMILIES:
                params = {"agg": agg, "n": 10**6 if gpu else 20000, "window": 300, "incomplete": "nan"}
                rows += [
                    measured_row(
                        rng, run, "accuracy/rolling", params, dtype, family, e, gpu, family in ("normal", "offset1e8")
                    )
                    for e in LADDER
                ]
    for agg in ("mean", "var"):  # the same under the looser bounds that these variants declare
        params = {"agg": agg, "n": 10**6 if gpu else 20000, "window": 300, "incomplete": "nan"}
        rows += [
            declared_row(rng, run, params, entry, gpu)
            for entry in LADDER
            if entry[0] in ("cuda_thread_tile", "cuda_prefix_difference")
        ]
    note = "The text prints n = 1e8; the stored outputs were produced at n = 1e9."
    tile = "cuda_thread_tile threads=64 tile=48"
    claims = [
        judge(run, rows, "rolling-naive-to-tile", 15.4, tile, "cuda_naive threads=128", note=note),
        judge(run, rows, "rolling-naive-to-shared", 3.31, "cuda_shared threads=128", "cuda_naive threads=128"),
        judge(run, rows, "rolling-naive-to-tile-later", 6.36, tile, "cuda_naive threads=128", hardware="NVIDIA V100"),
        judge(run, rows, "rolling-tile-against-pandas", 6.86, tile, "peer_pandas"),
        judge(run, rows, "rolling-tile-seconds", 1.123, tile, None),
    ]
    return lines + rows + claims


def small():
    rng, run = random.Random(1), "20260102T030405Z-00000001"
    entries = {e[0]: e for e in LADDER}
    params = {"agg": "mean", "n": 10**9, "window": 3000, "incomplete": "nan"}

    def row(variant, family="ramp", scenario="published/rolling", p=params, gpu=True, dtype="f64"):
        return measured_row(rng, run, scenario, p, dtype, family, entries[variant], gpu)

    rows = [
        row(v)
        for v in (
            "cpu_best",
            "cpu_naive",
            "cuda_naive",
            "cuda_shared",
            "cuda_thread_tile",
            "peer_numba_cuda",
            "peer_cupy",
        )
    ]
    rows += [
        row("cuda_thread_tile", "offset1e8", "accuracy/rolling", {**params, "n": 10**6, "agg": "var"}),
        row("cuda_thread_tile", "nan", "accuracy/rolling", {**params, "n": 10**6}),
        row("cuda_block_prefix_suffix", "nan", "accuracy/rolling", {**params, "n": 10**6}),
        held(row("cuda_block_prefix_suffix", "normal", "sweeps/rolling", {**params, "n": 10**8}, dtype="f32"), 0.4e-3),
        row("cuda_prefix_difference", "normal", "sweeps/rolling", {**params, "n": 10**8, "agg": "min"}),
    ]
    laptop = "20260102T040506Z-00000002"
    emulated = {**row("cuda_shared", "normal", "smoke", {**params, "n": 20000, "window": 30}, gpu=False), "run": laptop}
    unsupported = {
        **row("peer_cupy", "normal", "smoke", {**params, "n": 20000, "window": 30}, gpu=False),
        "run": laptop,
    }
    claims = [
        judge(
            run,
            rows,
            "rolling-naive-to-tile",
            15.4,
            "cuda_thread_tile threads=64 tile=48",
            "cuda_naive threads=128",
            note="The text prints n = 1e8; the stored outputs were produced at n = 1e9.",
        ),
        judge(run, rows, "rolling-naive-to-shared", 3.31, "cuda_shared threads=128", "cuda_naive threads=128"),
        judge(run, rows, "rolling-prefix-seconds", 0.1, "cuda_prefix_difference", None),
    ]
    return [
        environment(run, True),
        ceilings(run, "cuda"),
        ceilings(run, "cpu"),
        *rows,
        *claims,
        environment(laptop, False),
        ceilings(laptop, "cpu"),
        emulated,
        unsupported,
    ]


if __name__ == "__main__":
    makers = {"small": small, "gpu": lambda: full(True), "laptop": lambda: full(False)}
    if len(sys.argv) != 2 or sys.argv[1] not in makers:
        sys.exit(__doc__)
    for line in makers[sys.argv[1]]():
        print(json.dumps(line))
