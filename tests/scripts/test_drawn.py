"""The project's variants on inputs and shapes that are drawn: mostly zeros, one element far out, gaps that outlive every weight, any window. No
family has them. `rungs exec --check` judges. More of them:

    RUNGS=build/release/bin/rungs cmake/python tests/scripts/test_drawn.py OP COUNT [FIRST]
"""

import json
import pathlib
import sys
import tempfile

import numpy
import pytest

from program import FULL, call, needs_emulator

LEFT_OUT = {  # what is known to fail: see the scenarios `accuracy` and the op's page
    "discounted_cumsum": ("cuda_cub_sum", "cuda_log_stage"),
    "discounted_cumsum_grad": ("cuda_log_stage", "cuda_windows"),
    "ewm": ("cuda_truncated_tile", "cuda_truncated_tile_closed_form"),
    "moments": ("cpu_power_sums_column_order", "cpu_power_sums_row_order", "cuda_power_sums", "cuda_two_pass"),
    "rolling": (
        *("cpu_apply", "cuda_apply", "cuda_naive_wraparound", "cuda_prefix_difference", "cuda_published_tiles"),
        *("cuda_thread_tile", "cuda_thread_tile_sums"),
    ),
}
SHAPES = [(2, 1), (1, 3000), (3, 1025), (7, 128), (64, 33), (5, 4096), (1, 70001), (300, 7), (33, 513), (17, 260)]


def values(rng, shape, huge=1e30):
    x = rng.normal(size=shape)
    kind = rng.choice(["normal", "offset", "mixed", "zeros", "special", "constant", "sorted", "spike", "huge"])
    if kind == "offset":
        x += 1e3
    elif kind == "mixed":
        x *= 10.0 ** rng.integers(-3, 3, size=shape)
    elif kind == "zeros":
        x[rng.random(shape) < 0.9] = 0
    elif kind == "constant":
        x[:] = 7.5
    elif kind == "sorted":
        x = numpy.sort(x, axis=0)
    elif kind == "huge":
        x *= huge
    elif kind in ("special", "spike"):
        for value in (numpy.nan, numpy.inf, -numpy.inf) if kind == "special" else (1e16,):
            if rng.random() < 0.7:
                x.flat[rng.integers(x.size)] = value
    return x


def discounted(rng):
    batch, n = SHAPES[rng.integers(len(SHAPES))]
    inputs = {"x": values(rng, (batch, n))}
    factor = rng.choice([0.99, 0, 1, -1, -0.5, 1e-20, 0.999999, 0.5])
    shape = [(1,), (batch,), (batch, n)][rng.integers(3)]
    gamma = numpy.full(shape, factor)
    if shape != (1,):
        gamma *= rng.uniform(0.9, 1, size=shape)
    if shape == (batch, n):
        gamma[rng.random(shape) < rng.choice([0, 0.01, 0.5])] = 0
    inputs["gamma"] = gamma
    if rng.random() < 0.3:
        inputs["reset"] = (rng.random((batch, n)) < rng.choice([0.001, 0.1])).astype(numpy.uint8)
    return inputs, [f"direction={rng.choice(['left', 'right'])}"], "y"


def discounted_grad(rng):
    inputs, settings, _ = discounted(rng)
    return inputs | {"dy": rng.normal(size=inputs["x"].shape)}, settings, "dx"


def ewm(rng):
    n = int(rng.choice([1, 37, 992, 993, 5000, 32737, 40003]))
    x = values(rng, n, huge=1e140)
    for _ in range(rng.integers(6)):
        begin, length = rng.integers(n), rng.choice([1, 5, 300, 991, 992, 993, 4000, 30000])
        x[begin : begin + length] = numpy.nan
    x[rng.random(n) < rng.choice([0, 0, 0.001, 0.3, 0.95])] = numpy.nan
    choices = {"span": ["1", "1.5", "3", "20", "300", "5000", "1e6"], "agg": ["mean", "var", "std"]}
    choices |= {"adjust": ["true", "true", "false"], "nan": ["decay", "decay", "propagate"], "min_periods": [1, 2, 50]}
    return {"x": x}, [f"{name}={rng.choice(given)}" for name, given in choices.items()], "y"


def moments(rng):
    shape = [(1, 5), (2, 3), (1000, 7), (20011, 1), (333, 64), (17, 1000), (257, 128)][rng.integers(7)]
    return {"x": values(rng, shape, huge=1e8)}, [f"order={rng.choice([4, 6])}"], "mean"


def rolling(rng):
    n = int(rng.choice([1, 5, 100, 1000, 4097, 20011]))
    window = min(n, int(rng.choice([1, 2, 7, 16, 17, 31, 48, 49, 63, 65, 75, 100, 125, 300, 1000, 5000])))
    agg = rng.choice(["mean", "sum", "var", "std", "min", "max"])
    return {"x": values(rng, n, huge=1e8)}, [f"window={window}", f"agg={agg}"], "y"


OPS = {
    "discounted_cumsum": discounted,
    "discounted_cumsum_grad": discounted_grad,
    "ewm": ewm,
    "moments": moments,
    "rolling": rolling,
}


def variants_of(op):
    listed = [variant["id"] for variant in json.loads(call("list", "variants", "--json").stdout)]
    names = [name.split("/")[1] for name in listed if name.startswith(f"{op}/c")]
    return [name for name in names if name not in LEFT_OUT[op]]


def failures(op, seed, folder):
    """Commands that fail, with what they say."""
    rng = numpy.random.default_rng(seed)
    inputs, settings, output = OPS[op](rng)
    dtype = rng.choice([numpy.float64, numpy.float32])
    words = []
    for name, array in inputs.items():
        path = folder / f"{name}.npy"
        with numpy.errstate(over="ignore"):
            numpy.save(path, array if array.dtype == numpy.uint8 else array.astype(dtype))
        words += ["--in", f"{name}={path}"]
    for setting in settings:
        words += ["--set", setting]
    failed = []
    for variant in variants_of(op):
        emulated = ["--emulate"] if variant.startswith("cuda_") else []
        command = ["exec", f"{op}/{variant}", *words, "--out", f"{output}={folder}/out.npy", "--check", *emulated]
        done = call(*command, "--bounds", "declared")
        said = done.stdout + done.stderr
        unsupported, vacuous = done.returncode == 4, "not judgeable (" in said
        if done.returncode != 0 and not unsupported and not vacuous:
            failed.append(f"seed {seed}: {' '.join(command)} {' '.join(map(str, inputs['x'].shape))}: {said[:400]}")
    return failed


@needs_emulator
@pytest.mark.parametrize("seed", range(40 if FULL else 3))
@pytest.mark.parametrize("op", OPS)
def test_drawn(folder, op, seed):
    assert not failures(op, seed, folder)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        op, count, first = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0
        for seed in range(first, first + count):
            print(*failures(op, seed, pathlib.Path(folder)), sep="\n", end="", flush=True)
