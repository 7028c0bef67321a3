"""Rows that bear no ranking and no claim: the data of their samples left the outputs as they are, so that a stored result would be right; or
their own, looser bound does not tell a wrong definition."""

import pytest

from program import call, expect, needs_release, rows_of

pytestmark = needs_release

ONE = "timed on one input"
# case -> is a stored result right? By the op: a mean of numbers near 1e8 in f32, the variance of equal numbers, the largest of all numbers. By the
# data: windows that are never without a NaN, sums behind one or beyond the range. The outputs of incomplete windows do not count.
CASES = {
    "rolling n=20011 agg=mean window=300 dtype=f32 input=offset1e8": True,
    "rolling n=20011 agg=var window=300 input=constant": True,
    "rolling n=20011 agg=max window=20011": True,
    "rolling n=20011 agg=mean window=20011": False,
    "rolling n=20011 agg=mean window=300 input=constant": False,
    "rolling n=20011 agg=mean window=300 input=naninf": False,
    "rolling n=20011 agg=max window=300": False,
    "rolling n=20011 agg=mean window=17500 input=naninf": True,
    "rolling n=20011 agg=mean window=17500 input=uniform": False,
    "ewm n=20011 span=20 nan=propagate input=gaps": True,
    "ewm n=20011 span=20 nan=decay input=gaps": False,
    "ewm n=20011 agg=mean span=20 min_periods=19001": False,
    "ewm n=20011 agg=var span=20 min_periods=19001 input=constant": True,
    "discounted_cumsum n=20011 input=overflow": True,
    "moments rows=2011 cols=5 input=ramp": False,
    "redact rows=2011": False,
}


def test_who_is_marked(folder):
    out = folder / "rows.jsonl"
    done = call("run", *CASES, "--variants", "cpu_best,cpu_naive", "--quick", "--no-ceilings", "--out", out)
    rows = [row for row in rows_of(out) if row["timing"]]
    for row in rows:
        case = next(case for case in CASES if set(case.split()) <= set(row["case"].split()))
        shares = [timed["changed"] for timed in row["timing"].values() if timed.get("checked")]
        assert row["timed_on_one_input"] is CASES[case] is (min(shares) < 0.1), (case, shares)
    told = [line for line in done.stderr.splitlines() if ONE in line]
    expect(len(told) == sum(row["timed_on_one_input"] for row in rows) > 2, "the terminal says it", done)


MARKED = """
title: times on one input
suites:
  - op: rolling
    axes: {agg: [mean], n: [20011], window: [300], dtype: [f32], input: [offset1e8, uniform]}
    variants: [cpu_naive, cpu_best]
    modes: [cold]
claims:
"""
CLAIM = "  - {{id: {id}, statement: s, source: s, hardware: h, method: m, program: original, reason: r, {what}, case: {case}, variant: {variant}}}\n"
SECONDS = "quantity: seconds, mode: cold, rule: at_most, value: 1000"
SPEEDUP = "quantity: speedup, mode: cold, baseline: cpu_naive, rule: about, value: 1, factor: 1e6"
ERROR = "quantity: error, output: y, rule: at_most, value: 1e30"
WINDOW = "agg=mean n=20011 window=300 dtype=f32 input="


def claims_of(folder, scenario, claims):
    path, out, page = folder / "marked.yaml", folder / "rows.jsonl", folder / "REPORT.md"
    path.write_text(scenario + "".join(CLAIM.format(id=k, what=w, case=c, variant=v) for k, w, c, v in claims))
    out.unlink(missing_ok=True)
    done = call("run", path, "--quick", "--no-ceilings", "--out", out, cwd=folder)
    expect(done.returncode == 0, "the scenario runs", done)
    judged = {claim["id"]: claim for claim in rows_of(out, "claim")}
    made = call("report", out, "--out", page)
    expect(made.returncode == 0, "the report is made", made)
    return rows_of(out), judged, page


def test_neither_claim_nor_rank(folder):
    claims = [
        (f"{name}-{family}", what, WINDOW + family, "cpu_best")
        for family in ("offset1e8", "uniform")
        for name, what in (("seconds", SECONDS), ("speedup", SPEEDUP), ("error", ERROR))
    ]
    _, judged, page = claims_of(folder, MARKED, claims)
    outcomes = {name: claim["outcome"] for name, claim in judged.items()}
    expect(
        outcomes
        == {
            "seconds-offset1e8": "not_testable",
            "speedup-offset1e8": "not_testable",
            "error-offset1e8": "holds",
            "seconds-uniform": "holds",
            "speedup-uniform": "holds",
            "error-uniform": "holds",
        },
        f"times on one input are not judged: {outcomes}",
    )
    assert "not judged: rolling/cpu_best threads=0 was timed on one input" == judged["seconds-offset1e8"]["why"]
    ranked = page.read_text().partition("## Who is fastest where")[2].partition("\n## ")[0]
    assert "uniform" in ranked and "offset1e8" not in ranked
    details = (folder / "results/rolling.md").read_text()
    assert details.count(f", {ONE} |") == 2


DECLARED = """
title: looser bounds
suites:
  - op: moments
    axes: {rows: [%s], cols: [5], dtype: [f32], input: [uniform]}
    variants: [peer_numpy]
    modes: [cold]
    bounds: declared
claims:
"""


@pytest.mark.parametrize("rows, judged", [("2011", False), ("97, 2011", True)])
def test_no_claim_on_a_definition_that_nothing_tells(folder, rows, judged):
    case = "rows=2011 cols=5 dtype=f32 input=uniform"
    claims = [
        ("seconds", SECONDS, case, "peer_numpy"),
        ("error", ERROR.replace("output: y", "output: mean"), case, "peer_numpy"),
    ]
    found, by_id, _ = claims_of(folder, DECLARED % rows, claims)
    if any(row["verdict"] == "skip" for row in found):
        pytest.skip(found[0]["reason"])
    for claim in by_id.values():
        assert claim["outcome"] == ("holds" if judged else "not_testable"), claim
        assert claim["why"].startswith("not judged: definition of moments/peer_numpy") is not judged
