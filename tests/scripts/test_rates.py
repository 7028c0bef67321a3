"""How often a bound tells what it must tell apart: sums in the type, inputs of fewer digits, outputs cut instead of rounded. By the
program's own verdicts, over 12 seeds, with --full over 1000, on input families of which each shipped scenario has one."""

import pytest

from program import FULL, MUTANTS, SOURCE, call, expect, rows_of

SEEDS = 1000 if FULL else 12
CASES = {
    "discounted_cumsum": "n: 257, batch: 1",
    "discounted_cumsum_grad": "n: 257, batch: 3, gamma_per: row",
    "double": "n: 257",  # nothing is added up or rounded; narrow_inputs is TF32 of f32
    "ewm": "n: 257, span: 100, adjust: false",
    "moments": "rows: 257, cols: 16",
    "rolling": "n: 257, window: 100, agg: mean",
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
FAMILIES = {op: {"normal", "uniform", "offset1e3", "naninf"} for op in CASES}
FAMILIES["double"] -= {"offset1e3"}  # it has none
FAMILIES["discounted_cumsum_grad"] -= {"naninf"}  # there dgamma is mostly NaN


def rates():
    for op in CASES:
        for (dtype, sums), wrong in WRONG.items():
            usual = dtype != "f32" or sums == "f32"
            for family in sorted(FAMILIES[op]) if dtype == sums else ["normal"]:
                if op != "double":
                    yield op, dtype, sums, family, wrong
                elif usual:
                    yield op, dtype, sums, family, ("narrow_inputs",)
    for dtype in ("e4m3", "e5m2"):
        yield "moments", dtype, "f32", "normal", EIGHT


pytestmark = pytest.mark.skipif(not MUTANTS.exists(), reason="the tests' variants are not built")


@pytest.mark.parametrize("op, dtype, sums, family, wrong", list(rates()))
def test_rates(folder, op, dtype, sums, family, wrong):
    variants = ", ".join(f"cpu_mutants wrong={name}" for name in ("nothing", *wrong))
    accumulate = "" if op == "double" else f"accumulate: [{sums}], "
    (folder / "rates.yaml").write_text(f"""title: "Rates"
suites:
  - op: {op}
    axes: {{dtype: [{dtype}], {accumulate}input: [{family}], seed: {list(range(1, SEEDS + 1))}}}
    tied: [{{{CASES[op]}}}]
    variants: [{variants}]
""")
    out = folder / "rows.jsonl"
    words = ("run", folder / "rates.yaml", "--verify-only", "--no-ceilings", "--out", out)
    done = call(*words, program=MUTANTS, timeout=3600)
    expect(out.exists(), "rows", done)
    rows = rows_of(out)
    expect(len(rows) == SEEDS * (1 + len(wrong)), "a row for each seed", done)
    for name in ("nothing", *wrong):
        mine = [row for row in rows if row["tunables"]["wrong"] == name]
        rate = sum(row["verdict"] == "fail" for row in mine) / len(mine)
        print(f"{op} {dtype} in {sums} {family}: {name}: {rate:.4%} of {len(mine)} seeds fail")
        if name == "nothing":
            assert all(row["verdict"] == "pass" for row in mine), (name, rate)
        else:
            assert rate >= 0.999, (name, rate)


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
