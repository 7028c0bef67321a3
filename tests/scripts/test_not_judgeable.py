"""Outputs whose tolerance lets 0 pass: shown as not judgeable, and a row of such outputs alone is no pass."""

from program import call, rows_of

from analysis import rows as r
from analysis.report.checks import accuracy_cell


def verified(folder, case, variant):
    out = folder / "rows.jsonl"
    told = call("run", case, "--variants", variant, "--verify-only", "--out", out)
    return rows_of(out)[0], told


def test_one_output_of_many(folder):
    row, told = verified(folder, "moments rows=1e5 cols=4 dtype=f32 input=offset1e6", "cpu_two_pass")
    assert row["verdict"] == "pass"
    left_out = [name for name, e in row["errors"].items() if not e["judgeable"]]
    assert "skewness" in left_out
    assert "min" not in left_out
    assert row["errors"]["skewness"]["vacuous"] > 0.5
    assert f"not judgeable: {', '.join(left_out)}" in told.stderr
    assert r.unjudged(row) == left_out
    words = f"pass (not judgeable: {', '.join(left_out)})"
    assert r.verdict_words(row) == f"{words} (does not tell {', '.join(row['does_not_tell'])})"
    row = {key: value for key, value in row.items() if key != "does_not_tell"}
    assert r.verdict_words(row) == words
    others = {**row, "errors": {name: e for name, e in row["errors"].items() if name not in left_out}}
    assert r.worst_ratio(row) == r.worst_ratio(others)
    assert "(not judgeable: " in accuracy_cell([row])
    older = {
        **row,
        "errors": {
            name: {k: v for k, v in e.items() if k not in ("judgeable", "vacuous")} for name, e in row["errors"].items()
        },
    }
    assert r.verdict_words(older) == "pass"


def test_no_output_at_all(folder):
    row, told = verified(folder, "rolling n=1e4 window=3000 agg=var dtype=f32 input=offset1e8", "cpu_naive")
    assert (row["verdict"], row["timing"], row["reverified"]) == ("skip", None, None)
    assert "y: not judgeable (the tolerance is no less than the value in" in row["reason"]
    assert row["errors"]["y"]["judgeable"] is False
    assert r.worst_ratio(row) is None
    assert "0 passed, 0 failed, 0 errors, 1 skipped" in told.stdout


def test_what_fails_fails(folder):
    row, told = verified(folder, "moments rows=1e5 cols=4 dtype=f32 input=offset1e6", "cpu_power_sums_row_order")
    assert row["verdict"] == "fail"
