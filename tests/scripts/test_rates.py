"""How often a bound tells what it must tell apart: sums in the type, inputs of fewer digits, outputs cut instead of rounded. Of 100 seeds, with
--full of 1000, on input families of which each shipped scenario has one; tests/verification/seeds.c compares as the program does (test_op_mutants.py)."""

import functools

import pytest

from program import BUILD, FULL, MUTANTS, SOURCE, call, expect, rows_of

SEEDS = 1000 if FULL else 100
MISSED = SEEDS // 1000  # at most: 99.9% are told
CASES = {  # more than 64 terms are added up
    "discounted_cumsum": ("n=257 batch=1", "n=1200"),
    "discounted_cumsum_grad": ("n=257 batch=3 gamma_per=row", "n=257 batch=3", "n=400 batch=9 gamma_per=row"),
    "double": ("n=257",),  # nothing is added up or rounded; narrow_inputs is TF32 of f32
    "ewm": ("n=257 span=100 adjust=false", "n=1003 span=300 adjust=false"),
    "moments": ("rows=257 cols=16", "rows=301 cols=7"),
    "rolling": ("n=257 window=100 agg=mean", "n=257 window=100 agg=sum", "n=1003 window=300 agg=mean"),
}
OF_FLOATS = {  # whose mutants make no other mistakes
    "ewm": ("n=257 span=100", "n=257 span=100 agg=var", "n=257 span=100 agg=std adjust=false"),
    "rolling": ("n=257 window=100 agg=var", "n=257 window=100 agg=std"),
}
CUT = ("tf32_inputs", "bf16_inputs")
WRONG = {  # type of elements, what sums are in -> mutants
    ("f16", "f32"): ("narrow_inputs", "narrow_outputs", "narrow_sums"),
    ("bf16", "f32"): ("narrow_inputs", "narrow_outputs", "narrow_sums"),
    ("f32", "f32"): CUT,
    ("f32", "f64"): (*CUT, "narrow_outputs", "narrow_sums"),
}
EIGHT = ("narrow_inputs", "narrow_sums")  # outputs are f32


# What tells f32 that was cut; of all else only `normal` was tried.
FAMILIES = {op: {"normal", "uniform", "offset1e3"} for op in CASES}
FAMILIES["double"] -= {"offset1e3"}  # it has none
FAMILIES["discounted_cumsum"] |= {"naninf"}  # of the other ops most outputs are NaN


def rates():
    """(case, mutants)"""
    for op, cases in CASES.items():
        for (dtype, sums), wrong in WRONG.items():
            if op == "double" and sums == "f64":
                continue
            accumulate = " accumulate=f64" if sums == "f64" else ""
            for family in sorted(FAMILIES[op]) if dtype == sums else ["normal"]:
                for case in cases + (OF_FLOATS.get(op, ()) if dtype == sums else ()):
                    names = ("narrow_inputs",) if op == "double" else wrong
                    yield f"{op} {case} dtype={dtype}{accumulate} input={family}", names
    for dtype in ("e4m3", "e5m2"):
        for case in CASES["moments"]:
            yield f"moments {case} dtype={dtype} input=normal", EIGHT


pytestmark = pytest.mark.skipif(not MUTANTS.exists(), reason="the tests' variants are not built")


@functools.cache
def module_of(op):
    """Of its mutants; made anew where it is older than they are."""
    case = f"{op} {CASES[op][0]}"
    call("run", case, "--variants", "cpu_mutants", "--verify-only", "--no-ceilings", "--json", program=MUTANTS)
    return BUILD / f"tests/modules-of-mutants/{op}/cpu_mutants.so"


@pytest.mark.parametrize("case, wrong", list(rates()))
def test_rates(case, wrong):
    done = call(module_of(case.split()[0]), case, SEEDS, "nothing", *wrong, program=BUILD / "tests/seeds", timeout=600)
    expect(done.returncode == 0, case, done)
    passing = {name: seeds for name, *seeds in (line.split() for line in done.stdout.splitlines())}
    assert len(passing.pop("nothing")) == SEEDS, "who is right passes"
    assert passing.keys() == set(wrong) and all(len(seeds) <= MISSED for seeds in passing.values()), passing


def suites():
    """(scenario, op, dtype) -> input families, of what is shipped."""
    yaml = pytest.importorskip("yaml")
    found = {}
    for path in sorted((SOURCE / "scenarios").rglob("*.yaml")):
        for suite in yaml.safe_load(path.read_text())["suites"]:
            axes, tied = suite.get("axes", {}), suite.get("tied") or [{}]
            for case in [case for part in tied for case in (part if isinstance(part, list) else [part])]:
                for dtype in [case["dtype"]] if "dtype" in case else axes.get("dtype", ["f64"]):
                    families = [case["input"]] if "input" in case else axes.get("input", ["uniform"])
                    found.setdefault((str(path.relative_to(SOURCE / "scenarios")), suite["op"], dtype), set()).update(
                        families
                    )
    return found


def test_every_scenario_has_such_a_family():
    found = suites()
    lacking = {
        key: families
        for key, families in found.items()
        if key[2] in ("f32", "f16", "bf16", "e4m3", "e5m2")
        and not families & (FAMILIES[key[1]] if key[2] == "f32" or key[1] == "double" else {"normal"})
    }
    assert len([key for key in found if key[2] == "f32"]) > 20 and not lacking, lacking


# What is right stays within its bound: so many elements of each type, with --full a hundred times as many.
MANY = 10_000_000 if FULL else 100_000
HONEST = {
    "discounted_cumsum/cpu_sequential": f"batch={MANY // 1000} n=1000",
    "discounted_cumsum_grad/cpu_sequential": f"batch={MANY // 1000} n=1000 gamma_per=element",
    "ewm/cpu_sequential": f"n={MANY}",
    "moments/cpu_two_pass": f"rows=100 cols={MANY // 100}",
    "rolling/cpu_naive": f"n={MANY} window=30",
}


@pytest.mark.parametrize("variant, case", HONEST.items())
@pytest.mark.parametrize("dtype, sums", WRONG)
def test_honest_elements(folder, variant, case, dtype, sums):
    op, name = variant.split("/")
    out = folder / "rows.jsonl"
    words = ("--variants", name, "--verify-only", "--no-ceilings", "--out", out)
    done = call("run", f"{op} {case} dtype={dtype} accumulate={sums} input=normal", *words, timeout=3600)
    (row,) = rows_of(out)
    expect(row["verdict"] == "pass", f"{case} of {dtype} in {sums}", done)
