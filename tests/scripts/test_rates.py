"""How often a bound tells what it must tell apart: sums in the type, inputs of fewer digits, outputs cut instead of rounded. On one input
family, by the program's own verdicts, over 12 seeds, with --full over 3000."""

import pytest

from program import FULL, MUTANTS, call, expect, rows_of

SEEDS = 3000 if FULL else 12
CASES = {
    "discounted_cumsum": "n: 257, batch: 1",
    "discounted_cumsum_grad": "n: 257, batch: 3, gamma_per: row",
    "ewm": "n: 257, span: 100, adjust: false",
    "moments": "rows: 257, cols: 16",
    "rolling": "n: 257, window: 100, agg: mean",
}
WRONG = {
    "f16": ("narrow_inputs", "narrow_outputs", "narrow_sums"),
    "bf16": ("narrow_inputs", "narrow_outputs", "narrow_sums"),
    "f32": ("tf32_inputs", "bf16_inputs"),
}

F32 = ("discounted_cumsum", "moments")
ALL = [(op, dtype) for op in CASES for dtype in WRONG if dtype != "f32" or op in F32]

pytestmark = pytest.mark.skipif(not MUTANTS.exists(), reason="the tests' variants are not built")


@pytest.mark.parametrize("op, dtype", ALL)
def test_rates(folder, op, dtype):
    variants = ", ".join(f"cpu_mutants wrong={name}" for name in ("nothing", *WRONG[dtype]))
    (folder / "rates.yaml").write_text(f"""title: "Rates"
suites:
  - op: {op}
    axes: {{dtype: [{dtype}], input: [normal], seed: {list(range(1, SEEDS + 1))}}}
    tied: [{{{CASES[op]}}}]
    variants: [{variants}]
""")
    out = folder / "rows.jsonl"
    words = ("run", folder / "rates.yaml", "--verify-only", "--no-ceilings", "--out", out)
    done = call(*words, program=MUTANTS, timeout=3600)
    expect(out.exists(), "rows", done)
    rows = rows_of(out)
    expect(len(rows) == SEEDS * (1 + len(WRONG[dtype])), "a row for each seed", done)
    for name in ("nothing", *WRONG[dtype]):
        mine = [row for row in rows if row["tunables"]["wrong"] == name]
        rate = sum(row["verdict"] == "fail" for row in mine) / len(mine)
        print(f"{op} {dtype} {name}: {rate:.4%} of {len(mine)} seeds fail")
        assert rate == 0 if name == "nothing" else rate >= 0.999, (name, rate)
