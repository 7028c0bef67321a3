"""The references of rolling, ewm, discounted sums and their gradients against exact arithmetic, on random cases from the whole range of numbers: a hundred of each op;
RUNGS_TEST_FULL=1: three thousand. The arithmetic is Python's and knows nothing of the references' methods."""

import math
import os
import random
import subprocess

import exact_discount
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


def discount_case(rng):
    """Factors that take what is subnormal back to ordinary numbers, and the other way, among them."""
    factors = {
        "steep": lambda: 10 ** rng.uniform(15, 27),
        "near 1": lambda: rng.uniform(0.9, 1),
        "falling": lambda: 10 ** -rng.uniform(1, 100),
        "any": lambda: 10 ** rng.uniform(-40, 40) * rng.choice((-1, 1)),
    }
    numbers = {
        "subnormal": lambda: 5e-324 * rng.randint(-9, 9) * rng.choice((1, 1000, 10**9)),
        "normal": lambda: rng.gauss(0, 1),
        "small": lambda: math.ldexp(rng.gauss(0, 1), rng.randint(-1070, -600)),
        "integers": lambda: float(rng.randint(-8, 8)),
        "any": lambda: math.ldexp(rng.gauss(0, 1), rng.randint(-1070, 500)),
        "sparse": lambda: rng.choice((0.0, 0.0, 0.0, 1.0, 1e-300)),
    }
    while True:
        op, n, batch = (
            rng.choice(("discounted_cumsum", "discounted_cumsum_grad")),
            rng.randint(2, 24),
            rng.choice((1, 1, 2)),
        )
        case = {"op": op, "n": n, "batch": batch, "gamma_per": rng.choice(("all", "row", "element"))}
        case |= {"k": rng.choice((0, 0, 0, rng.randint(1, n))), "direction": rng.choice(("left", "right"))}
        factor, x, dy = factors[rng.choice(list(factors))], *(numbers[rng.choice(list(numbers))] for _ in range(2))
        case |= {"x": [x() for _ in range(n * batch)], "dy": [dy() for _ in range(n * batch)]}
        case["gamma"] = [factor() for _ in range({"all": 1, "row": batch, "element": n * batch}[case["gamma_per"]])]
        case["reset"] = [int(rng.random() < 0.1) for _ in range(n * batch)] if rng.random() < 0.3 else None
        if op == "discounted_cumsum" and case["k"] == 0:
            case |= {"layout": rng.choice(("row_major", "time_major"))}
            case |= {"initial": [x() for _ in range(batch)] if rng.random() < 0.5 else None}
        case["expected"] = exact_discount.expected(case)
        if case["expected"]:
            break
    options = f"layout={case.get('layout', 'row_major')} state={'both' if case.get('initial') else 'none'} "
    case["text"] = (
        f"{op} batch={batch} n={n} gamma={case['gamma'][0]!r} gamma_per={case['gamma_per']} k={case['k']} "
        f"direction={case['direction']} reset={'mask' if case['reset'] else 'none'} dtype=f64 input=ones "
        f"{options if op == 'discounted_cumsum' else ''}"
    )
    return case


def lines_of(case):
    yield case["text"]
    yield "0"
    yield " ".join(float(x).hex() for x in case["x"])
    for name in ("gamma", "dy") if case["text"].startswith("discounted_cumsum_grad") else ("gamma",):
        if name in case:
            yield " ".join(float(x).hex() for x in case[name])
    if case["text"].startswith("discounted_cumsum "):
        yield " ".join(float(x).hex() for x in case.get("initial") or [])
    if not case["text"].startswith("rolling"):
        yield " ".join(map(str, case.get("starts") or case.get("reset") or []))


def outputs_of(case):
    """The case once for each of its outputs."""
    return [case | {"output": name, "exact": exact} for name, exact in case.get("expected", {"y": None}).items()]


def run(cases):
    text = "".join(line + "\n" for case in cases for line in lines_of(case))
    done = subprocess.run([PROGRAM], input=text, capture_output=True, text=True, timeout=600)
    expect(done.returncode == 0, f"{len(cases)} references", done)
    rows = [[float.fromhex(number) for number in line.split()] for line in done.stdout.splitlines()]
    outputs = [output for case in cases for output in outputs_of(case)]
    expect(len(rows) == 2 * len(outputs), f"{len(rows)} lines for {len(outputs)} outputs")
    return zip(outputs, rows[::2], rows[1::2])


@pytest.mark.parametrize("op", ["rolling", "ewm", "discounted_cumsum"])
def test_references_are_exact(op):
    makers = {"rolling": (rolling_case, exact_rolling), "ewm": (ewm_case, exact_ewm)}
    make, oracle = makers.get(op, (discount_case, exact_discount))
    rng = random.Random(f"{op} {SEED}")
    wrong = []
    for case, value, tolerance in run([make(rng) for _ in range(COUNT)]):
        found = oracle.check(case, value, tolerance)
        if found:
            wrong.append(f"{case['text']}: {found}\n  x = {' '.join(float(x).hex() for x in case['x'])}")
    assert not wrong, f"seed {SEED}: {len(wrong)} of {COUNT} are not exact\n" + "\n".join(wrong[:5])


def test_a_gradient_takes_subnormal_sums_unrounded():
    """y is a few subnormal units, dx some 1e240: what y lost in rounding would show in the third digit of dgamma."""
    rng = random.Random(SEED)
    cases = []
    while len(cases) < 20:
        n = 24
        case = {"op": "discounted_cumsum_grad", "n": n, "batch": 1, "gamma_per": "element", "k": 0, "direction": "left"}
        case |= {"x": [5e-324 * rng.randint(-999, 999) for _ in range(n)], "dy": [rng.gauss(0, 1) for _ in range(n)]}
        case |= {"gamma": [rng.uniform(0, 1) for _ in range(n // 2)], "reset": None}
        case["gamma"] += [10 ** rng.uniform(15, 27) for _ in range(n // 2)]
        case["text"] = f"discounted_cumsum_grad n={n} gamma=0.5 gamma_per=element direction=left dtype=f64 input=ones"
        case["expected"] = exact_discount.expected(case)
        cases += [case] if case["expected"] else []
    wrong = [exact_discount.check(case, value, tolerance) for case, value, tolerance in run(cases)]
    assert not any(wrong), f"seed {SEED}: {wrong}"
