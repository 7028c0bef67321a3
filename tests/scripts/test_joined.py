"""Variants that were files of their own and are one of another's today: names of before in patterns, exec, rows to resume, claims and analysis."""

import json
import pathlib
import shutil

import pytest

from program import BUILD, RUNGS, SOURCE, call, expect, needs_cuda, needs_emulator, rows_of

from analysis import joined, rows  # behind program, which has the checkout in the path

CASES = {
    "moments": "moments rows=7 cols=4",
    "discounted_cumsum": "discounted_cumsum n=9",
    "rolling": "rolling n=9 window=3",
}
CASES["discounted_cumsum_grad"] = CASES["discounted_cumsum"].replace(" ", "_grad ")


def specs(case, variants):
    done = call("run", case, "--variants", variants, "--dry-run", "--json")
    expect(done.returncode == 0, f"{variants}: planned", done)
    return [row["spec"] for row in json.loads(done.stdout)]


@needs_cuda
@pytest.mark.parametrize("before", joined.JOINED)
def test_a_name_of_before_is_a_pattern(before):
    today, name, value = joined.JOINED[before]
    op, word = before.split("/")
    (found,) = specs(CASES[op], word)
    assert [found] == specs(CASES[op], f"{today} {name}={value}")
    assert found.startswith(today + " ") and f" {name}={value}" in found
    assert found == specs(CASES[op], f"{before}*")[0], "first the one of this name"
    others = specs(CASES[op], f"cuda_*,-{word}")
    assert found not in others and any(today in spec for spec in others), "it takes that form alone away"


@needs_cuda
def test_a_glob_names_both_forms():
    both = [spec for spec in specs(CASES["moments"], "cuda_two_pass*") if "wide=" in spec]
    expect([spec[-1] for spec in both] == ["0", "1"], f"a glob names both forms: {both}")
    expect(specs(CASES["moments"], "cuda_two_pass wide=0,cuda_two_pass wide=1") == both, "and so do their tunables")


@needs_cuda
def test_a_form_is_removed_of_a_module_that_nobody_needs(folder):
    """As in a fresh build, where none is compiled: what was joined is not known."""
    for part in ("bin", "modules"):
        (folder / "build" / part).mkdir(parents=True)
    program = pathlib.Path(shutil.copy(RUNGS, folder / "build/bin/rungs"))
    shutil.copy(BUILD / "modules/settings.json", folder / "build/modules")
    shutil.copy(BUILD / "rungs-places", folder / "build")
    scenario = SOURCE / "scenarios/edges/moments.yaml"
    done = call("run", scenario, "--variants", "cpu_best", "--dry-run", program=program)
    expect(done.returncode == 0 and not list((folder / "build/modules").rglob("cuda_*")), "planned", done)


def old(row):
    """A row as the programs before wrote it."""
    row = {**row, "variant": "moments/cuda_two_pass_wide", "spec": "moments/cuda_two_pass_wide memory=cuda"}
    row["tunables"] = {name: value for name, value in row["tunables"].items() if name != "wide"}
    return row


@needs_cuda
@needs_emulator
def test_rows_of_before_are_read_and_resumed(folder):
    out, words = folder / "rows.jsonl", ("--emulate", "--verify-only", "--no-ceilings")
    done = call("run", CASES["moments"], "--variants", "cuda_two_pass_wide", *words, "--out", out)
    expect(done.returncode == 0 and len(rows_of(out)) == 1, "run by the name of before", done)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    (today,) = (line for line in lines if line["kind"] == "row")
    expect((today["variant"], today["tunables"]["wide"]) == ("moments/cuda_two_pass", 1), f"{today['spec']}: as today")
    before = [old(line) if line["kind"] == "row" else line for line in lines]
    expect(rows.with_defaults(old(today))["spec"] == today["spec"], "analysis reads an old row as a new one")
    out.write_text("".join(json.dumps(line) + "\n" for line in before))
    done = call(
        "run",
        CASES["moments"],
        "--variants",
        "cuda_two_pass wide=0,cuda_two_pass wide=1",
        *words,
        "--out",
        out,
        "--resume",
    )
    made = [row["spec"] for row in rows_of(out)]
    expect(
        done.returncode == 0 and made[0] == before[-1]["spec"] and len(made) == 2 and "wide=0" in made[1],
        f"resumed: {made}",
        done,
    )


@needs_cuda
@needs_emulator
def test_exec_knows_the_name_of_before(folder):
    numpy = pytest.importorskip("numpy")
    numpy.save(folder / "x.npy", numpy.arange(28.0).reshape(7, 4))
    words = ("--in", f"x={folder}/x.npy", "--out", f"mean={folder}/mean.npy", "--emulate", "--check")
    done = call("exec", "moments/cuda_two_pass_wide", *words)
    expect(
        done.returncode == 0 and numpy.load(folder / "mean.npy").tolist() == [12, 13, 14, 15],
        "exec by the name of before",
        done,
    )


def test_claims_of_before_are_about_the_forms():
    claim = {"variant": "moments/cuda_two_pass_wide memory=cuda", "baseline": "moments/cuda_two_pass memory=pool"}
    joined.claim(claim)
    forms = ["moments/cuda_two_pass memory=cuda wide=1", "moments/cuda_two_pass memory=pool wide=0"]
    assert list(claim.values()) == forms


@pytest.mark.parametrize("spec", ["moments/cuda_two_pass wide=1", "rolling/cuda_naive threads=128"])
def test_other_names_stay(spec):
    assert joined.spec(spec) == spec
