"""`rungs sharpness`: shares that follow from how numbers lie, for an op whose tolerance is 0, and the definitions that rows name, too."""

import json

from program import call, expect, expect_error, rows_of


def lines(*words):
    done = call("sharpness", *words, "--json")
    expect(done.returncode == 0, f"sharpness {words}", done)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_doubling_rejects_every_lost_bit():
    """Of numbers with 11 bits one in eight has but 8, of those with 24 or 53 nearly none fewer than 12."""
    (f16,) = lines("double n=20011 dtype=f16 input=uniform")
    assert f16["ulps"] == 0 and set(f16["rejecting_share"]) == {"bf16", "bf16 sums"}
    assert all(abs(share - 7 / 8) < 0.02 for share in f16["rejecting_share"].values())
    (f32,) = lines("double n=20011 dtype=f32 input=uniform")
    assert all(
        f32["rejecting_share"][cut] > 0.99 for cut in ("TF32", "TF32 cut", "f16", "bf16", "f16 sums", "bf16 sums")
    )
    assert "f32" not in f32["rejecting_share"]
    (ones,) = lines("double n=11 dtype=f32 input=ones")
    assert ones["rejecting_share"] == {}


def test_factors_keep_their_digits():
    """0.99 of TF32 would change every sum, and no variant cuts what it does not load as it loads numbers: of ones nothing is left to cut."""
    (ones,) = (line for line in lines("discounted_cumsum n=2000 dtype=f32 input=ones") if line["output"] == "y")
    (normal,) = (line for line in lines("discounted_cumsum n=2000 dtype=f32 input=normal") if line["output"] == "y")
    assert "TF32" not in ones["rejecting_share"] and normal["rejecting_share"]["TF32"] > 0.5


def test_a_family_that_the_type_has_not():
    """The others are told: 2,000 whole numbers are no bf16."""
    done = call("sharpness", "discounted_cumsum n=2000 dtype=bf16")
    expect(
        done.returncode == 0 and "whole numbers up to 256" in done.stdout and "heavytail" in done.stdout, "all", done
    )


def test_definitions_are_those_of_rows(folder):
    found = {line["case"].split("input=")[1].split()[0]: line for line in lines("rolling n=2003 window=30")}
    assert {"uniform", "constant", "offset1e8", "mixed"} <= set(found)
    out = folder / "rows.jsonl"
    cases = [found[family]["case"] for family in ("uniform", "constant")]
    call("run", *cases, "--variants", "cpu_naive", "--verify-only", "--no-ceilings", "--out", out)
    for case, row in zip(cases, rows_of(out)):
        line = found[row["input"]]
        assert row["case"] == case and row["verdict"] == "pass"
        assert set(line["definitions_that_pass"]) == set(row["does_not_tell"])
    assert found["constant"]["definitions_that_pass"] and not found["uniform"]["definitions_that_pass"]


def test_the_table():
    done = call("sharpness", "rolling n=2003 window=30 dtype=f32")
    expect(
        "normal" in done.stdout and "%" in done.stdout and "window+1" in done.stdout,
        "families, shares, definitions",
        done,
    )


def test_what_has_no_tolerance_or_is_no_op():
    expect_error(call("sharpness", "redact"), 2, "redact: its outputs must match to the byte")
    expect_error(call("sharpness", "rollin"), 2, "did you mean 'rolling'?")
    expect_error(call("sharpness"), 2, "an op or a case is expected")
