#!/usr/bin/env python3
"""Writes ewm_pandas.txt: what pandas' ewm gives, element by element, for tests/unit/test_ewm_reference.c.

One case is three lines: parameters of the op `ewm`, the input, the output; numbers as C hexadecimal floats. With --check it writes
nothing and fails if the pandas installed here no longer gives what the file says."""

import pathlib
import sys
import warnings

import numpy as np
import pandas as pd

PATH = pathlib.Path(__file__).with_name("ewm_pandas.txt")
DECAYS = [
    {"span": 1.0},
    {"span": 1.5},
    {"span": 10.0},
    {"span": 300.0},
    {"com": 3.25},
    {"halflife": 0.5},
    {"halflife": 7.0},
    {"alpha": 1.0},
    {"alpha": 0.05},
]


def series():
    rng = np.random.default_rng(20240229)
    plain = rng.normal(size=16)
    holes = plain.copy()
    holes[rng.random(16) < 0.3] = np.nan
    late = holes.copy()
    late[:5] = np.nan
    sparse = np.full(16, np.nan)
    sparse[[2, 9, 10, 15]] = [1.0, -2.0, 4.0, 0.5]
    return [
        plain,
        1e6 + plain,
        holes,
        1e3 + late,
        sparse,
        np.array([5.0]),
        np.array([np.nan]),
        np.array([np.nan, 2.0, np.nan, 3.0]),
    ]


def cases():
    for decay in DECAYS:
        for agg in "mean", "var", "std":
            for adjust in True, False:
                for k, x in enumerate(series()):
                    for min_periods in (0, 4) if k == 2 else (0,):
                        ewm = pd.Series(x).ewm(**decay, adjust=adjust, ignore_na=False, min_periods=min_periods)
                        y = getattr(ewm, agg)().to_numpy()
                        ((name, value),) = decay.items()
                        words = f"agg={agg} {name}={value!r} adjust={'true' if adjust else 'false'} min_periods={min_periods} n={len(x)}"
                        yield words, x, y


def numbers(values):
    return " ".join("nan" if np.isnan(v) else float(v).hex() for v in values)


def check(lines):
    """Other versions may round differently; what is asked for is agreement, not equality of bits."""
    kept = PATH.read_text().splitlines()
    assert len(kept) == len(lines), "the file holds other cases: run make_ewm_pandas.py"
    for old, new in zip(kept, lines):
        if "=" in old or old == new:
            assert old == new, (old, new)
            continue
        a, b = ([float.fromhex(w) for w in line.split()] for line in (old, new))
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-300)


def main():
    warnings.simplefilter("error")
    lines = [line for words, x, y in cases() for line in (words, numbers(x), numbers(y))]
    if "--check" in sys.argv[1:]:
        check(lines)
        print(f"{len(lines) // 3} cases agree with pandas {pd.__version__}")
    else:
        PATH.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
