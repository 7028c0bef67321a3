"""Real series for the input families real:NAME, from data sets that public Python packages ship (nothing is downloaded).

    real_series.py --list               names, packages, one line each
    real_series.py NAME --out FILE.npy  one series as float64; missing values are NaN

Exit codes: 0 good; 2 unknown name; 3 a Python package is missing; 1 anything else.
"""

import argparse
import importlib
import sys
from typing import Callable, NamedTuple


PACKAGES = {"statsmodels.datasets": "statsmodels", "sklearn.datasets": "scikit-learn"}  # as pip knows them
MODELS, LEARN = PACKAGES


class Series(NamedTuple):
    name: str
    module: str  # what is imported
    values: Callable  # from the module to numbers, in time order
    summary: str


def column(data, name):
    return lambda module: getattr(module, data).load_pandas().data[name]


def months(module):
    """A table of one row per year, one column per month, as one series."""
    return module.elnino.load_pandas().data.drop(columns="YEAR").to_numpy().ravel()


def table(loader):
    """Row by row: an op that wants the table back asks for its number of columns."""
    return lambda module: getattr(module, loader)().data.ravel()


def disease(module):
    return module.load_diabetes().target


# families_real.c reads the names from these lines too: each entry begins with the word Series, a parenthesis and the quoted name.
SERIES = [
    Series("co2", MODELS, column("co2", "co2"), "weekly CO2 at Mauna Loa, 1958-2001, ppm, with missing weeks"),
    Series("sunspots", MODELS, column("sunspots", "SUNACTIVITY"), "yearly sunspot numbers, 1700-2008"),
    Series("nile", MODELS, column("nile", "volume"), "yearly flow of the Nile at Aswan, 1871-1970"),
    Series("elnino", MODELS, months, "monthly Pacific sea surface temperature, 1950-2010"),
    Series("gdp", MODELS, column("macrodata", "realgdp"), "quarterly US real GDP, 1959-2009"),
    Series("inflation", MODELS, column("macrodata", "infl"), "quarterly US inflation, 1959-2009"),
    Series("wine", LEARN, table("load_wine"), "table of 178 wines x 13 measurements, row by row"),
    Series("breast_cancer", LEARN, table("load_breast_cancer"), "table of 569 tumours x 30 measurements, row by row"),
    Series(
        "digits",
        LEARN,
        table("load_digits"),
        "table of 1797 handwritten digits x 64 pixels, row by row: small integers, many zeros",
    ),
    Series("diabetes", LEARN, disease, "disease progression of 442 patients"),
]


def fail(code, message):
    print(message, file=sys.stderr)
    sys.exit(code)


def load(series):
    try:
        import numpy

        module = importlib.import_module(series.module)
    except ImportError as error:
        package = PACKAGES[series.module]
        fail(
            3,
            f"needs the Python package {package} ({error}); install it with: {sys.executable} -m pip install {package}",
        )
    return numpy.ascontiguousarray(numpy.asarray(series.values(module), dtype="<f8"))


def save(path, values):
    import numpy

    with open(path, "wb") as file:  # numpy.save would add .npy to the name
        numpy.save(file, values)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name", nargs="?")
    parser.add_argument("--out")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    if args.list:
        for series in SERIES:
            print(f"real:{series.name:12} {PACKAGES[series.module]:14} {series.summary}")
        return
    if not args.name or not args.out:
        parser.error("NAME and --out are expected, or --list")
    found = [series for series in SERIES if series.name == args.name]
    if not found:
        fail(2, f"no series '{args.name}' (known: {', '.join(series.name for series in SERIES)})")
    save(args.out, load(found[0]))


if __name__ == "__main__":
    main()
