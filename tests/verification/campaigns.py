"""campaigns.py - the tests that compare references with oracles that share no code with them, in each test's own words and numbers."""

import pathlib
import re

TESTS = pathlib.Path(__file__).resolve().parents[1]
PATTERNS = (
    "unit/test_*_reference.c",
    "unit/test_*_definition.c",
    "unit/test_*differential*.c",
    "scripts/test_*differential*.py",
    "scripts/test_exact_references.py",
)
HEAD = """## References against independent oracles
What each test says of itself. Random cases come from consecutive seeds: the first column of numbers in every run of the tests, the second with
`./rungs test --full`. Every value must be the exact one rounded to double, or its neighbour, unless the test says otherwise.

"""


def about(text, ending):
    """The comment or docstring that a file begins with, as one line."""
    found = re.match(r"/\*(.*?)\*/" if ending == ".c" else r'(?:#![^\n]*\n)?"""(.*?)"""', text, re.S)
    return " ".join(re.sub(r"\n \*", "\n", found[1]).split()) if found else ""


def seeds(text):
    """(seeds in every run, seeds in a full one), as a test declares them."""
    found = re.search(r"\bSEEDS = (\d+), SEEDS_FULL = (\d+)", text) or re.search(
        r"^SEEDS, SEEDS_FULL = (\d+), (\d+)", text, re.M
    )
    return (found[1], found[2]) if found else ("", "")


def part():
    lines = []
    for path in sorted(path for pattern in PATTERNS for path in TESTS.glob(pattern)):
        text = path.read_text()
        lines.append(f"| `{path.stem}` | {about(text, path.suffix)} | {' | '.join(seeds(text))} |")
    return HEAD + "| test | oracle | seeds | full |\n|---|---|---|---|\n" + "\n".join(lines) + "\n"
