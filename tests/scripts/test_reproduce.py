"""rungs reproduce: what a tier covers, from how many processes, in which order it ends, and what it does not continue."""

import gzip
import json
import os
import re

import pytest

from program import MUTANTS, RUNGS, SOURCE, call, expect, expect_error, needs_cuda, needs_release, rows_of

TIERS = {"--quick": 1, "--full": 5}  # processes

SCENARIO = """title: Two sizes
suites:
  - op: double
    axes: {n: [1003, 100003], seed: [1, 2], input: [normal], dtype: [f64]}
    variants: [cpu_right, cpu_zeros]
    modes: [cold]
"""


CLAIM = """claims:
  - {id: mine, statement: as fast as itself, source: here, hardware: here, method: none, program: ours, quantity: speedup, mode: cold,
     case: "n=1003 seed=1 dtype=f64 input=normal", variant: cpu_right, baseline_case: "n=100003 seed=1 dtype=f64 input=normal", baseline: cpu_right,
     rule: about, value: 1, factor: 1000, reason: a test}
"""


def reproduce(folder, *more, **others):
    scenario = folder / "two.yaml"
    scenario.write_text(SCENARIO)
    return call("reproduce", scenario, "--out", folder / "out", *more, program=MUTANTS, **others)


@needs_release
def test_each_row_of_a_claim_about_first_calls_has_one(folder):
    """Though a worker may serve all cases of a pass."""
    (folder / "scenario.yaml").write_text(
        SCENARIO.replace("[cold]", "[cold, first]") + CLAIM.replace("mode: cold", "mode: first")
    )
    done = call("reproduce", folder / "scenario.yaml", "--full", "--out", folder / "out", program=MUTANTS)
    rows = [row for row in rows_of(folder / "out/rows.jsonl") if row["variant"] == "double/cpu_right"]
    counts = [row["timing"]["first"]["count"] for row in rows if row["seed"] == 1]
    expect(counts == [1] * 10, f"first calls of two cases and five processes: {counts}", done)
    others = [row["timing"]["first"]["count"] for row in rows if row["seed"] == 2]
    expect(others == [1, 0], f"no claim is about the others, which share a worker: {others}", done)


@needs_release
@pytest.mark.parametrize("tier", TIERS)
def test_a_tier_says_what_it_covers(folder, tier):
    done = reproduce(folder, tier)
    rows = rows_of(folder / "out/rows.jsonl")
    expect(len(rows) == 8, f"{tier}: {len(rows)} rows", done)
    expect(
        re.search(rf"rungs: {tier}: 8 rows; about \d.* on an H200", done.stderr),
        f"{tier}: it says before what it covers",
        done,
    )
    expect(re.search(r"^it took \d+", done.stdout, re.M), f"{tier}: and afterwards how long it took", done)
    expect(
        done.stderr.count("pass") == 0 and done.stderr.count("fail  double/cpu_zeros") == 4,
        f"{tier}: a line for each failure only",
        done,
    )
    sizes = [row["params"]["n"] for row in rows]
    expect(sizes.index(1003) < sizes.index(100003), f"{tier}: smallest first")


def test_tiers_exclude_each_other(folder):
    expect_error(reproduce(folder, "--quick", "--full"), 2, "exclude each other")


@needs_release
@pytest.mark.parametrize("tier, count", TIERS.items(), ids=TIERS)
def test_rows_of_a_claim_come_from_the_processes_of_the_tier(folder, tier, count):
    """Its passes over the suite; other rows from one."""
    scenario = folder / "claimed.yaml"
    scenario.write_text(SCENARIO + CLAIM)
    done = call("reproduce", scenario, "--out", folder / "out", tier, program=MUTANTS)
    rows = rows_of(folder / "out/rows.jsonl")
    claimed = [row for row in rows if row["variant"] == "double/cpu_right" and row["seed"] == 1]
    sides = [row["params"]["n"] for row in claimed]
    expect(
        sides == [1003, 100003] * count,
        f"{tier}: {count} processes of each side, each a pass over the suite: {sides}",
        done,
    )
    expect({row["worker"] for row in claimed} == {"shared"}, f"{tier}: a worker serves the cases of a pass", done)
    rest = len(rows) - len(sides)
    expect(rest == (6 if tier == "--full" else 0), f"{tier}: one process of the rest: {rest} rows", done)
    claim = rows_of(folder / "out/rows.jsonl", "claim")[0]
    close = claim["why"].endswith("the processes disagree")  # on a busy machine, however wide the band
    expect(
        claim["processes"] == count and claim["provisional"] == (count < 5 or close),
        f"{tier}: the claim says so",
        done,
    )


@needs_release
def test_a_process_that_was_skipped_is_not_started_again(folder):
    """Each process has its row, in order, also behind an interruption."""
    scenario, rows = folder / "skipped.yaml", folder / "out/rows.jsonl"
    claim = CLAIM.replace("cpu_right", "peer_right").replace('"n=1003 seed=1 dtype=f64', '"n=1003 seed=1 dtype=bf16')
    text = SCENARIO.replace("[cpu_right, cpu_zeros]", "[peer_right]").replace("[f64]", "[f64, bf16]")
    scenario.write_text(text.replace("n: [1003, 100003], seed: [1, 2]", "n: [1003, 100003], seed: [1]") + claim)
    words = ("reproduce", scenario, "--out", folder / "out", "--full")
    for resume in ((), ("--resume",)):
        done = call(*words, *resume, program=MUTANTS)
        claimed = [
            row for row in rows_of(rows) if (row["params"]["n"], row["dtype"]) in ((1003, "bf16"), (100003, "f64"))
        ]
        verdicts = [row["verdict"] for row in claimed]
        expect(verdicts == ["skip", "pass"] * 5, f"a row of each process: {verdicts}", done)
        skips = [row for row in claimed if row["verdict"] == "skip"]
        expect(len({row["reason"] for row in skips}) == 1, "with the same reason", done)
        served = [row["worker"] is not None for row in skips]
        expect(served == [True, *[bool(resume)], *[False] * 3], f"one worker in a run: {served}", done)
        lines = rows.read_text().splitlines(keepends=True)
        kept = next(at for at, line in enumerate(lines) if json.loads(line) == skips[1])
        rows.write_text("".join(lines[:kept]))


@needs_release
def test_a_dry_run_tells_the_rows_of_a_tier(folder):
    """What the scenario keeps for a full campaign, and what --dry-run tells of each tier: the rows that are then made."""
    scenario = folder / "kept.yaml"
    late = CLAIM.replace("id: mine,", "id: late, tier: full,").replace("seed=1", "seed=2").replace("claims:\n", "")
    scenario.write_text(SCENARIO.replace("    modes:", "    full: [cpu_zeros]\n    modes:") + CLAIM + late)
    words = ("reproduce", scenario, "--out", folder / "out")
    planned = {}
    for tier, specs in (
        ("--quick", {("cpu_right", 1, 1)}),
        ("", {("cpu_right", 1, 3), ("cpu_right", 2, 1)}),
        ("--full", {("cpu_right", 1, 5), ("cpu_right", 2, 5), ("cpu_zeros", 1, 1), ("cpu_zeros", 2, 1)}),
    ):
        done = call(*words, *tier.split(), "--dry-run", "--json", program=MUTANTS)
        planned[tier] = rows = json.loads(done.stdout)
        found = {(row["spec"].split("/")[1], int(row["case"].split("seed=")[1]), row["processes"]) for row in rows}
        expect(found == specs and len(rows) == 2 * len(specs), f"{tier}: of each size {specs}", done)
    expect(not (folder / "out").exists(), "a dry run writes nothing")
    done = call(*words, program=MUTANTS)
    made = sorted((row["spec"], row["case"]) for row in rows_of(folder / "out/rows.jsonl"))
    told = sorted((row["spec"], row["case"]) for row in planned[""] for _ in range(row["processes"]))
    expect(made == told, "the rows that were told", done)
    expect(names(done.stdout, "not run") == ["late"], "the claim of a later tier is named", done)
    expect_error(call("reproduce", scenario, "--json", program=MUTANTS), 2, "--json needs --dry-run")
    expect_error(call("reproduce", scenario, "--dry-run", "--resume", program=MUTANTS), 2, "leave out --resume")


@needs_cuda
@pytest.mark.parametrize("first, second", [("cuda_naive", "cpu_loop"), ("cpu_loop", "cuda_naive")])
def test_emulated_cases_beside_others(folder, first, second):
    """A case whose rows are all emulated does not take those of the scenario's other cases with it, and the other way round."""
    scenario = folder / "mixed.yaml"
    scenario.write_text(
        "title: t\nsuites:\n"
        f"  - {{op: double, axes: {{n: [10]}}, variants: [{first}], modes: [cold]}}\n"
        f"  - {{op: double, axes: {{n: [20]}}, variants: [{second}], modes: [cold]}}\n"
    )
    done = call("run", scenario, "--verify-only", "--no-ceilings", "--out", folder / f"{first}.jsonl")
    made = sorted(row["variant"] for row in rows_of(folder / f"{first}.jsonl"))
    expect(made == ["double/cpu_loop", "double/cuda_naive"], f"{first} first: {made}", done)


def test_a_row_that_took_longer_than_what_is_left_is_not_started(folder):
    """It is counted as left, and made without a budget."""
    rows, words = (
        folder / "rows.jsonl",
        ("run", "double n=10", "--variants", "cpu_loop", "--verify-only", "--no-ceilings"),
    )
    call(*words, "--out", rows)
    lines = [json.loads(line) for line in rows.read_text().splitlines()]
    lines[-1] |= {"verdict": "error", "reason": "it took long", "seconds_spent": 1000}
    rows.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for options, made, told in (
        (("--budget", "100s"), 1, "1 row did not fit the budget"),
        (("--budget", "9999s"), 2, "1 pass"),
    ):
        done = call(*words, "--out", rows, "--resume", *options)
        expect(len(rows_of(rows)) == made and told in done.stdout, f"{options}: {told}", done)


@needs_release
def test_one_campaign(folder):
    """--resume adds to rows of the same commit and machine only."""
    rows = folder / "out/rows.jsonl"
    done = reproduce(folder, "--quick", "--budget", "0.01s")
    expect("did not fit the budget" in done.stdout, "the budget leaves rows", done)
    before = rows.read_text()
    for key, value, words in (
        ("commit", "0" * 40, "are of commit 000000000000"),
        ("id", "f" * 16, "of another machine"),
    ):
        lines = [json.loads(line) for line in before.splitlines()]
        for line in lines:
            if line["kind"] == "environment":
                line[key] = value
        text = "".join(json.dumps(line) + "\n" for line in lines)
        rows.write_text(text)
        expect_error(reproduce(folder, "--quick", "--resume"), 2, "--resume: the rows in", words, "start anew")
        expect(rows.read_text() == text, f"another {key}: nothing is added")
    rows.write_text(before)
    done = reproduce(folder, "--quick", "--resume")
    expect(len(rows_of(rows)) == 8, "the same commit and machine: it goes on to the end", done)


@needs_release
def test_parts_of_a_campaign(folder):
    """tests/gpu/campaign.sh: a part that its budget ends, then the rest from the packed rows, as on a fresh machine."""
    scenario = folder / "two.yaml"
    seeds = list(range(30))  # more rows than a second has room for
    scenario.write_text(SCENARIO.replace("cpu_right, cpu_zeros", "cpu_loop").replace("[1, 2]", str(seeds)))
    for part, seconds, code, words in ((1, 1, 1, r"remains: \d+ rows?; call"), (2, 300, 0, "remains: nothing")):
        others = {**os.environ, "RUNGS": RUNGS, "RUNGS_CAMPAIGN": str(folder / f"machine-{part}")}
        done = call(folder / "kept", seconds, scenario, program=SOURCE / "tests/gpu/campaign.sh", env=others)
        expect(done.returncode == code and re.search(words, done.stdout), f"part {part}: {words}", done)
    with gzip.open(folder / "kept/rows.jsonl.gz", "rt") as lines:
        rows = [line for line in map(json.loads, lines) if line["kind"] == "row"]
    expect(len(rows) == 60 and len({row["run"] for row in rows}) == 2, f"{len(rows)} rows of two runs are packed")


def names(text, what):
    """Of claims that are told in one line, which the next one counts. Of many the ops are, each with a number."""
    found = re.search(rf"^{what}: (.*)\n(\d+) claims? {what}", text, re.M)
    told = found[1].split(", ") if found else []
    if found and int(found[2]) > 8:
        told = [op for op, count in map(str.split, told) for _ in range(int(count))]
    expect(not found or len(told) == int(found[2]), f"{what}: as many as it says")
    return told


def test_claims_come_last(folder):
    """Those that have a number, then those that cannot have one here, then those that were not run."""
    done = call("reproduce", "published/discounted_cumsum", "--quick", "--budget", "0.01s", "--out", folder / "out")
    lines = done.stdout.splitlines()
    claims, untestable, left = (
        [line for line in lines if line.startswith("claim dcs-")],
        names(done.stdout, "not testable here"),
        names(done.stdout, "not run"),
    )
    last = (claims + untestable)[-1] if not left else left[-1]
    expect(last in "\n".join(lines[-2:]), "claims come last", done)
    begin = next(k for k, line in enumerate(lines) if line.startswith("it took"))
    expect(
        all(line.startswith(("claim ", "not ")) or re.match(r"\d+ claims? not ", line) for line in lines[begin + 1 :]),
        "and nothing else comes after the time",
        done,
    )
    listed = json.loads(call("list", "claims", "--json").stdout)
    shipped = {
        claim["id"]
        for claim in (listed if isinstance(listed, list) else listed["claims"])
        if claim["id"].startswith("dcs-")
    }
    told = [*(line.split()[1] for line in claims), *untestable, *left]
    counted = {"discounted_cumsum", "discounted_cumsum_grad"}
    expect(
        len(told) == len(shipped) > 8, f"each claim of the scenario is told once: {len(told)} of {len(shipped)}", done
    )
    expect({*told} & counted and {*told} <= shipped | counted, "many are counted by op", done)
