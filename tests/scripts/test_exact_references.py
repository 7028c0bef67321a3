"""The references of rolling and ewm against exact arithmetic, on random cases from the whole range of numbers: a hundred of each op;
RUNGS_TEST_FULL=1: three thousand. The arithmetic is Python's and knows nothing of the references' methods."""

import math
import os
import random
import subprocess

import exact_ewm
import exact_rolling
import pytest

from program import BUILD, FULL, expect

SEEDS, SEEDS_FULL = 100, 3000
COUNT = SEEDS_FULL if FULL else SEEDS
SEED = int(os.environ.get("RUNGS_SEED", "1"))
PROGRAM = BUILD / "tests" / "print-reference"


def to_dtype(x, f32):
    if not f32 or not math.isfinite(x):
        return x
    import numpy

    with numpy.errstate(over="ignore"):
        rounded = float(numpy.float32(x))
    return rounded if math.isfinite(rounded) else math.copysign(float.fromhex("0x1.fffffep127"), x)


def anything(rng, f32):
    """A number whose exponent may be any; subnormal ones too."""
    low, high = (-149, 127) if f32 else (-1074, 1023)
    return rng.choice((-1, 1)) * math.ldexp(rng.uniform(1, 2), rng.randint(low, high))


def series(rng, n, f32):
    """Numbers of one kind, and what is planted among them."""
    kind = rng.choice(("normal", "any", "constant", "few", "integers", "subnormal", "huge", "cancelling", "offset"))
    top, tiny = (1e38, 1e-45) if f32 else (1e308, 5e-324)
    constant = anything(rng, f32)
    makers = {
        "normal": lambda i: rng.gauss(0, 1),
        "any": lambda i: anything(rng, f32),
        "constant": lambda i: constant,
        "few": lambda i: rng.choice((0.1, 0.2, 0.7)),
        "integers": lambda i: float(rng.randint(-8, 8)),
        "subnormal": lambda i: tiny * rng.randint(-9, 9),
        "huge": lambda i: top * rng.uniform(-1, 1),
        "cancelling": lambda i: (-1) ** i * constant,
        "offset": lambda i: 1e6 + rng.gauss(0, 1),
    }
    x = [makers[kind](i) for i in range(n)]
    planted = rng.choice(
        (
            (),
            (),
            (1e150,),
            (1e300, 1e-300),
            (1e300, -1e300),
            (top,),
            (-0.0, 0.0),
            (math.nan,),
            (math.inf,),
            (math.nan, math.inf, -math.inf),
        )
    )
    for number in planted:
        x[rng.randrange(n)] = number
    if rng.random() < 0.2:
        x = [math.nan if rng.random() < 0.5 else number for number in x]
    return [to_dtype(number, f32) for number in x]


def rolling_case(rng):
    n = rng.randint(1, 60)
    case = {
        "agg": rng.choice(exact_rolling.AGGREGATES),
        "dtype": rng.choice(("f32", "f64")),
        "window": rng.choice((1, 2, 3, rng.randint(1, n), rng.randint(1, 50))),
    }
    case["x"] = series(rng, n, case["dtype"] == "f32")
    case["text"] = f"rolling agg={case['agg']} n={n} window={case['window']} dtype={case['dtype']} input=ones"
    return case


def ewm_case(rng):
    n = rng.randint(1, 40)
    decay = rng.choice(
        (
            ("span", rng.choice((1.0, 1.25, 3.0, 20.0, 300.0, 1e6, rng.uniform(1, 30)))),
            ("alpha", rng.choice((1.0, 0.5, 0.999, rng.uniform(0.001, 1)))),
            ("com", rng.choice((0.0, 0.5, 9.5, 1e9))),
            ("halflife", rng.choice((0.01, 0.25, 1.0, 40.0))),
        )
    )
    case = {
        "agg": rng.choice(("mean", "var", "std")),
        "dtype": rng.choice(("f32", "f64")),
        "adjust": rng.random() < 0.5,
        "nan": rng.choice(("decay", "propagate")),
        "min_periods": rng.choice((0, 1, 1, 2, 5)),
        "decay": decay,
    }
    case["x"] = series(rng, n, case["dtype"] == "f32")
    case["starts"] = [int(rng.random() < 0.1) for _ in range(n)] if rng.random() < 0.3 else None
    case["text"] = (
        f"ewm agg={case['agg']} n={n} {decay[0]}={decay[1]!r} adjust={str(case['adjust']).lower()} nan={case['nan']} min_periods={case['min_periods']} "
        f"segments={'mask' if case['starts'] else 'none'} dtype={case['dtype']} input=ones"
    )
    return case


def lines_of(case):
    yield case["text"]
    yield "0"
    yield " ".join(float(x).hex() for x in case["x"])
    if case["text"].startswith("ewm"):
        yield " ".join(map(str, case["starts"] or []))


def run(cases):
    text = "".join(line + "\n" for case in cases for line in lines_of(case))
    done = subprocess.run([PROGRAM], input=text, capture_output=True, text=True, timeout=600)
    expect(done.returncode == 0, f"{len(cases)} references", done)
    rows = [[float.fromhex(number) for number in line.split()] for line in done.stdout.splitlines()]
    expect(len(rows) == 2 * len(cases), f"{len(rows)} lines for {len(cases)} cases")
    return zip(cases, rows[::2], rows[1::2])


@pytest.mark.parametrize("op", ["rolling", "ewm"])
def test_references_are_exact(op):
    make, oracle = {"rolling": (rolling_case, exact_rolling), "ewm": (ewm_case, exact_ewm)}[op]
    rng = random.Random(f"{op} {SEED}")
    wrong = []
    for case, value, tolerance in run([make(rng) for _ in range(COUNT)]):
        found = oracle.check(case, value, tolerance)
        if found:
            wrong.append(f"{case['text']}: {found}\n  x = {' '.join(float(x).hex() for x in case['x'])}")
    assert not wrong, f"seed {SEED}: {len(wrong)} of {COUNT} are not exact\n" + "\n".join(wrong[:5])
