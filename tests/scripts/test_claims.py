"""The outcome of a claim is one: what a run says at its end, what its file holds, what the report shows, what rungs judge says of the same
rows later. And emulated rows win nowhere over rows that ran, in whatever order they stand."""

import copy
import json
import re
import statistics

import pytest

from program import CUDA, SOURCE, call, expect, expect_error, needs_cuda, needs_release, rows_of

from analysis import joined, select
from analysis.claim_text import OUTCOMES, PROGRAMS
from analysis.report.claims import SHORT

SCHEMA = json.loads((SOURCE / "harness/record/row.schema.json").read_text())["$defs"]["claim"]["properties"]
RULES = SCHEMA["rule"]["enum"]
SCENARIO = """title: claims of every rule
suites:
  - op: double
    axes: {n: [1000, 64000]}
    variants: [cpu_loop]
    modes: [cold, first]
  - op: double
    axes: {n: [128000]}
    variants: [cpu_loop]
    not_run: a minute a call
claims:
"""
CLAIM = "  - {{id: {id}, statement: {id}, source: s, hardware: h, method: m, program: {program}, {what}, case: n={n}, variant: cpu_loop}}\n"
SECONDS, ITSELF = "quantity: seconds, mode: cold", "quantity: speedup, mode: cold, baseline: cpu_loop"
OTHER_SIZE = f"{ITSELF}, baseline_case: n=64000"  # some tens of times longer
# (id, n, program, what, outcome): times are between a nanosecond and a thousand seconds, and all else follows
CLAIMS = [
    ("below-most", 1000, "original", f"{SECONDS}, reason: r, rule: at_most, value: 1000", "holds"),
    ("above-most", 1000, "original", f"{SECONDS}, reason: r, rule: at_most, value: 1e-9", "fails"),
    ("above-least", 1000, "reimplementation", f"{SECONDS}, reason: r, rule: at_least, value: 1e-9", "holds"),
    ("in-range", 1000, "reimplementation", f"{SECONDS}, reason: r, rule: range, low: 1e-9, high: 1000", "holds"),
    ("slower-than-range", 1000, "original", f"{SECONDS}, reason: r, rule: range, low: 1e-10, high: 1e-9", "fails"),
    ("about-itself", 1000, "ours", f"{ITSELF}, reason: r, rule: about, value: 1, factor: 1e6", "holds"),
    ("about-less", 1000, "original", f"{ITSELF}, reason: r, rule: about, value: 1e9, factor: 2", "fails"),
    ("far-away", 1000, "successor", f"{OTHER_SIZE}, reason: r, rule: about, value: 1e6, factor: 2", "far"),
    (
        "broken-law",
        1000,
        "reimplementation",
        f"{OTHER_SIZE}, law: true, reason: r, rule: about, value: 1e6, factor: 2",
        "fails",
    ),
    ("first", 1000, "original", "quantity: seconds, mode: first, reason: r, rule: at_most, value: 1000", "holds"),
    ("faster-than-theirs", 1000, "original", f"{SECONDS}, rule: shown, value: 1000", "not_testable"),
    ("slower-than-theirs", 1000, "original", f"{SECONDS}, rule: shown, value: 1e-9", "fails"),
    ("exact", 64000, "original", "quantity: error, reason: r, rule: at_most, value: 1e-30", "holds"),
    ("a-finding", 64000, "original", "kind: finding, quantity: error, reason: r, rule: at_most, value: 1e-30", "holds"),
    (
        "not-counted",
        64000,
        "original",
        "quantity: launches, reason: r, rule: about, value: 31, factor: 1",
        "not_testable",
    ),
    ("too-dear", 128000, "original", f"{SECONDS}, reason: r, rule: at_most, value: 1", "not_run"),
]
TOTALS = {"holds": 5, "direction": 0, "far": 1, "fails": 4, "not_testable": 1, "not_run": 1}
WORDS = {
    name: {
        "faster-than-theirs": "shown",
        "slower-than-theirs": "shown, worse here",
        "a-finding": f"{OUTCOMES[outcome]} (finding)",
    }.get(name, OUTCOMES[outcome])
    for name, _, _, _, outcome in CLAIMS
}


def outcomes(claims):
    return {c["id"]: c["outcome"] for c in claims}


def told(text):
    """What the lines of claims on a terminal say: id -> outcome in words."""
    return {
        name: words
        for name, words in re.findall(
            r"^claim (\S+) +(?:original|reimplementation|successor|ours) +([^:]+): ", text, re.M
        )
    }


ROWS = SOURCE / "tests/golden/rows.jsonl"
GOLDEN = [json.loads(line) for line in ROWS.read_text().splitlines()]


@needs_release
def test_a_claim_has_one_outcome_everywhere(folder):
    scenario, out, page = folder / "all.yaml", folder / "rows.jsonl", folder / "REPORT.md"
    scenario.write_text(
        SCENARIO
        + "".join(CLAIM.format(id=name, n=n, program=program, what=what) for name, n, program, what, _ in CLAIMS)
    )
    done = call("run", scenario, "--quick", "--no-ceilings", "--out", out)
    expect(done.returncode == 0, "the scenario runs", done)
    judged = rows_of(out, "claim")
    wanted = {name: outcome for name, *_, outcome in CLAIMS}
    expect(outcomes(judged) == wanted, f"each rule has its outcome: {outcomes(judged)}", done)
    expect(
        all(c["provisional"] == (c["quantity"] in ("seconds", "speedup") and c["here"] is not None) for c in judged),
        "one process is provisional",
    )
    skipped = [row for row in rows_of(out, "row") if row["params"]["n"] == 128000]
    expect(
        [row["reason"] for row in skipped] == ["not run: a minute a call"] and skipped[0]["verdict"] == "skip",
        "what is marked is not run, and its row says so",
        done,
    )
    expect(told(done.stderr) == WORDS, f"the run's closing lines say the same: {told(done.stderr)}", done)
    expect(
        list(OUTCOMES) == SCHEMA["outcome"]["enum"] and list(PROGRAMS) == SCHEMA["program"]["enum"],
        "the report knows the program's outcomes",
    )
    tally = "; ".join(f"{OUTCOMES[name]}: {many}" for name, many in TOTALS.items())
    expect(
        f"reimplementations and successors: {tally}\n" in done.stdout
        and "2 on other hardware (only shown; 1 worse here); 1 findings; 1 of our own programs" in done.stdout,
        f"and it counts them: {tally}",
        done,
    )
    for _ in range(4):  # as a campaign adds processes
        done = call("run", scenario, "--quick", "--no-ceilings", "--out", out)
    expect(
        all(
            c["processes"] == 5 and c["low"] <= c["here"] <= c["high"]
            for c in rows_of(out, "claim")[-len(CLAIMS) :]
            if c["quantity"] == "seconds" and c["here"]
        ),
        "five processes give a median and a range",
        done,
    )
    done = call("report", out, "--out", page, "--figures", folder / "figures")
    text = "".join(path.read_text() for path in (folder / "results").glob("*.md"))
    shown = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        name = cells[2].removeprefix("finding: ") if len(cells) == 11 else None
        if name in WORDS:  # its one program's column: "1.2 us (1.1 us to 1.3 us) **does not hold**"
            (cell,) = (cell for cell in cells[5:9] if cell != "-")
            shown[name] = re.search(
                rf"(?:^| )\**({'|'.join((*(word.strip('*') for word in SHORT.values()), 'shown, worse here', 'shown'))})\**$",
                cell.strip(" \u2020"),
            )[1]
    same = {
        name: SHORT[outcome].strip("*") if WORDS[name].startswith(OUTCOMES[outcome]) else WORDS[name]
        for name, *_, outcome in CLAIMS
    }
    expect(shown == same, f"the report says the same: {shown}", done)
    expect(
        "15 published statements, 16 tests, holding: accuracy and counts 1 of 1; speed-ups and times 4 of 9 in size (1 same direction, far from the size; 4 do not hold); 1 not testable here; 1 not run; "
        "not counted: 2 of other hardware (1 worse here), 1 finding of ours, 1 of variants of ours."
        in page.read_text(),
        "its summary too",
        done,
    )


@pytest.fixture(scope="module")
def claims():
    return json.loads(call("list", "claims", "--json").stdout)


@needs_cuda
def test_a_shipped_claim_says_what_it_is(claims):
    judgeable = [c for c in claims if c["rule"]]
    expect(
        all(c["rule"] in RULES and c["expected"] and (c["reason"] or c["rule"] == "shown") for c in judgeable),
        "every shipped claim has a rule, a band and its reason",
    )
    expect(all(c["program"] in SCHEMA["program"]["enum"] for c in claims), "and names whose program tests it")
    expect(
        all(c["url"] and c["section"] and c["hardware"] for c in claims),
        "and has a URL, a section and the hardware of its source",
    )
    lines = call("list", "claims").stdout
    expect(all(c["expected"] in lines for c in judgeable), "rungs list claims shows it")


@needs_cuda
def test_shipped_claims_are_of_the_right_kind(claims):
    judgeable = [c for c in claims if c["rule"]]
    modes = {
        c["id"]: (c["mode"], c["baseline_mode"]) for c in claims if c["id"].startswith("dcs-p100") and "cuda" in c["id"]
    }
    expect(
        {mode for name, mode in modes.items() if name.endswith("-completed")} == {("complete", "cold")},
        "until the sums are there is the mode complete",
    )
    expect(
        {mode for name, mode in modes.items() if name.endswith("-enqueued")} == {("enqueue", "cold")},
        "until the call returns is the mode enqueue",
    )
    corrected = [c for c in claims if c["id"].endswith(("-equal-gamma", "-completed"))]
    expect(
        len(corrected) >= 7 and all(c["claim_kind"] == "finding" for c in corrected),
        "a corrected protocol gives findings",
    )
    expect(
        all(
            c["rule"] == "shown" or c["quantity"] not in ("seconds", "bytes_per_second", "elements_per_second")
            for c in judgeable
        ),
        "times and rates of other hardware are not judged",
    )
    expect(
        not any("peer_pandas" in c["variant"] and c["quantity"] == "error" for c in judgeable),
        "that pandas is right is a row, no claim",
    )


@needs_cuda
def test_committed_claims_are_what_judge_says_of_the_committed_rows(folder, claims):
    committed = SOURCE / "results/claims.jsonl"
    done = call("judge", "--out", folder / "claims.jsonl")
    expect(done.returncode == 0, "the committed rows can be judged", done)
    mine, there = rows_of(folder / "claims.jsonl", "claim"), rows_of(committed, "claim")
    for claim in there:
        joined.claim(claim)
    expect(mine == there, "results/claims.jsonl is what 'rungs judge' says of the committed rows", done)
    expect(len(told(done.stdout)) == len(mine), "and what it prints is what it writes", done)
    known = {c["scenario"] for c in mine}  # scenarios of which the committed rows have any
    expect(
        {c["id"] for c in mine} == {c["id"] for c in claims if c["scenario"] in known},
        "every claim of theirs has a line, whether it was run or not",
    )


def load(folder, *files):
    paths = []
    for k, lines in enumerate(files):
        paths.append(folder / f"part{k}.jsonl")
        paths[-1].write_text("".join(json.dumps(line) + "\n" for line in lines))
    return select.load(paths)


def test_emulated_rows_win_nowhere(folder):
    gpu = next(line["run"] for line in GOLDEN if line["kind"] == "environment" and line["gpu"])
    real = next(
        line
        for line in GOLDEN
        if line["kind"] == "row" and line["run"] == gpu and line["backend"] == "cuda" and line["timing"]
    )
    emulated = {
        **copy.deepcopy(real),
        "backend": "emulator",
        "timing": None,
        "why_not_timed": "emulated",
        "verdict": "fail",
        "reason": "emulated",
    }
    circumstances = [line for line in GOLDEN if line["kind"] == "environment"]
    for what, lines in (("before", [emulated, real]), ("after", [real, emulated])):
        kept = load(folder, circumstances + lines).rows
        expect(
            [row["backend"] for row in kept] == ["cuda"] and kept[0]["timing"],
            f"an emulated row {what} a timed one is left out of report and figures",
        )
    expect(
        [row["backend"] for row in load(folder, circumstances + [emulated]).rows] == ["emulator"], "alone it is kept"
    )
    later = copy.deepcopy(real)
    later["timing"]["cold"]["median"] = 12.5
    middle = statistics.median([real["timing"]["cold"]["median"], 12.5])
    expect(
        load(folder, circumstances + [real, later, emulated]).rows[0]["timing"]["cold"]["median"] == middle,
        "timed rows are processes: their median",
    )


def test_a_file_of_claims_stands_for_all_claims_of_its_scenarios(folder):
    claims = [line for line in GOLDEN if line["kind"] == "claim"]
    anew = {**claims[0], "outcome": "fails"}
    for order in ((GOLDEN, [anew]), ([anew], GOLDEN)):
        assert load(folder, *order).claims == [anew]
    other = {**anew, "scenario": "published/other", "id": "other"}
    assert len(load(folder, GOLDEN, [other]).claims) == len(claims) + 1, "and for those of no other scenario"


@needs_cuda
def test_rows_without_claims_are_not_judged(folder):
    (folder / "none.jsonl").write_text("".join(line for line in ROWS.open() if '"environment"' in line))
    done = call("judge", folder / "none.jsonl")
    expect_error(done, 3, "no claim was judged", "no row of a scenario with claims")


@pytest.mark.skipif(CUDA, reason="this build has CUDA variants")
def test_a_build_without_cuda_does_not_judge_what_it_does_not_know():
    expect_error(call("judge", ROWS), 4, "no CUDA variants")


def test_a_file_that_is_missing_is_named(folder):
    expect_error(call("judge", folder / "missing.jsonl"), 2, "missing.jsonl")
