"""The verdict on a claim is one: what a run says at its end, what its file holds, what the report shows, what rungs judge says of the same
rows later. And emulated rows win nowhere over rows that ran, in whatever order they stand."""
import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from program import BUILD, CONFIGURED, RELEASE, SOURCE, call, expect, rows_of

from analysis import select
from analysis.claim_text import VERDICTS

CUDA = re.search(r"^RUNGS_CUDA:\w+=ON$", CONFIGURED, re.MULTILINE)
SCHEMA = json.loads((SOURCE / "harness/record/row.schema.json").read_text())["$defs"]["claim"]["properties"]
RULES = SCHEMA["rule"]["enum"]
SCENARIO = """title: claims of every rule
suites:
  - op: double
    axes: {n: [1000, 64000]}
    variants: [cpu_loop]
    modes: [cold, first]
claims:
"""
CLAIM = "  - {{id: {id}, statement: {id}, source: s, hardware: h, method: m, {what}, case: n={n}, variant: cpu_loop}}\n"
SECONDS, ITSELF = "quantity: seconds, mode: cold", "quantity: speedup, mode: cold, baseline: cpu_loop"
# (id, n, what, verdict): times are between a nanosecond and a thousand seconds, and all else follows
CLAIMS = [("below-most", 1000, f"{SECONDS}, rule: at_most, value: 1000", "reproduced"),
          ("above-most", 1000, f"{SECONDS}, rule: at_most, value: 1e-9", "not reproduced"),
          ("above-least", 1000, f"{SECONDS}, rule: at_least, value: 1e-9", "reproduced"),
          ("below-least", 1000, f"{SECONDS}, rule: at_least, value: 1000", "not reproduced"),
          ("in-range", 1000, f"{SECONDS}, rule: range, low: 1e-9, high: 1000", "reproduced"),
          ("faster-than-range", 1000, f"{SECONDS}, rule: range, low: 1000, high: 2000", "exceeded"),
          ("slower-than-range", 1000, f"{SECONDS}, rule: range, low: 1e-10, high: 1e-9", "not reproduced"),
          ("about-itself", 1000, f"{ITSELF}, rule: about, value: 1, factor: 1e6", "reproduced"),
          ("about-more", 1000, f"{ITSELF}, rule: about, value: 1e-9, factor: 2", "exceeded"),
          ("one-sample", 1000, "quantity: seconds, mode: first, rule: at_most, value: 1000", "undecided"),
          ("exact", 64000, "quantity: error, rule: at_most, value: 1e-30", "reproduced"),
          ("not-counted", 64000, "quantity: launches, rule: about, value: 31, factor: 1", "not testable here")]


def verdicts(claims):
    return {c["id"]: c["verdict"] for c in claims}


def section(page, name):
    return re.search(rf"<!-- rungs:begin {name} -->\n(.*?)<!-- rungs:end {name} -->", page, re.S).group(1)


def one_verdict_everywhere(folder):
    scenario, out, page = folder / "all.yaml", folder / "rows.jsonl", folder / "REPORT.md"
    scenario.write_text(SCENARIO + "".join(CLAIM.format(id=name, n=n, what=what) for name, n, what, _ in CLAIMS))
    done = call("run", scenario, "--quick", "--no-ceilings", "--out", out)
    expect(done.returncode == 0, "the scenario runs", done)
    judged = verdicts(rows_of(out, "claim"))
    wanted = {name: verdict for name, _, _, verdict in CLAIMS}
    expect(judged == wanted, f"each rule has its verdict: {judged}", done)
    told = dict(re.findall(r"^claim (\S+) +(reproduced|exceeded|not reproduced|undecided|not testable here) ", done.stderr, re.M))
    expect(told == wanted, "the run's closing lines say the same", done)
    expect(set(VERDICTS) == set(SCHEMA["verdict"]["enum"]), "the report knows the program's verdicts")
    tally = ", ".join(f"{list(wanted.values()).count(v)} {v}" for v in VERDICTS)
    expect(f"published claims: {tally}\n" in done.stdout, f"and it counts them: {tally}", done)
    done = call("report", out, "--out", page, "--figures", folder / "figures")
    text = page.read_text()
    shown = {name: cells[-1].strip("* ") for line in section(text, "claims").splitlines() for name in wanted
             if (cells := [cell.strip() for cell in line.strip("| ").split(" | ")])[1:2] == [name]}
    expect(shown == wanted, f"the report says the same: {shown}", done)
    expect(f"9 published numbers, 12 tests: {tally}." in section(text, "summary"), "its summary too, each number counted once", done)


def shipped_claims(folder):
    done = call("list", "claims", "--json")
    claims = json.loads(done.stdout)
    expect(all(c["rule"] in RULES and c["expected"] for c in claims), "every shipped claim has a rule and says what reproduces it", done)
    lines = call("list", "claims").stdout
    expect(all(c["expected"] in lines for c in claims), "rungs list claims shows it")
    modes = {c["id"]: (c["mode"], c["baseline_mode"]) for c in claims if c["id"].startswith("dcs-p100") and "cuda" in c["id"]}
    expect({mode for name, mode in modes.items() if name.endswith("-completed")} == {("complete", "cold")}, "until the sums are there is the mode complete")
    expect({mode for name, mode in modes.items() if name.endswith("-enqueued")} == {("enqueue", "cold")}, "until the call returns is the mode enqueue")
    corrected = [c["statement"] for c in claims if c["id"].endswith("-equal-gamma")]
    expect(len(corrected) == 4 and all("the published" in text and "if gamma were the same" in text for text in corrected), "what nobody published is not told as published")
    expect(not any("peer_pandas" in c["variant"] and c["quantity"] == "error" for c in claims), "that pandas is right is a row, no claim")
    committed = SOURCE / "results/claims.jsonl"
    done = call("judge", "--out", folder / "claims.jsonl")
    expect(done.returncode == 0, "the committed rows can be judged", done)
    mine, there = rows_of(folder / "claims.jsonl", "claim"), rows_of(committed, "claim")
    expect(mine == there, "results/claims.jsonl is what 'rungs judge' says of the committed rows", done)
    told = dict(re.findall(r"^claim (\S+) +(reproduced|exceeded|not reproduced|undecided|not testable here) ", done.stdout, re.M))
    expect(told == verdicts(mine), "and what it prints is what it writes", done)
    shown = {cells[1].strip(): cells[-1].strip("* ") for line in section((SOURCE / "REPORT.md").read_text(), "claims").splitlines()
             if len(cells := line.strip("| ").split(" | ")) > 3 and cells[0].isdigit() and "`" not in cells[1]}
    expect(shown == {c["statement"].replace("|", "\\|"): c["verdict"] for c in there}, "REPORT.md has these verdicts")
    expect(call("judge", folder / "missing.jsonl").returncode == 2, "a missing file is told of")


def load(folder, *files):
    paths = []
    for k, lines in enumerate(files):
        paths.append(folder / f"part{k}.jsonl")
        paths[-1].write_text("".join(json.dumps(line) + "\n" for line in lines))
    return select.load(paths)


def emulated_rows_win_nowhere(folder):
    golden = [json.loads(line) for line in (SOURCE / "tests/golden/rows.jsonl").read_text().splitlines()]
    gpu = next(line["run"] for line in golden if line["kind"] == "environment" and line["gpu"])
    real = next(line for line in golden if line["kind"] == "row" and line["run"] == gpu and line["backend"] == "cuda" and line["timing"])
    emulated = {**copy.deepcopy(real), "backend": "emulator", "timing": None, "why_not_timed": "emulated", "verdict": "fail", "reason": "emulated"}
    circumstances = [line for line in golden if line["kind"] == "environment"]
    for what, lines in (("before", [emulated, real]), ("after", [real, emulated])):
        kept = load(folder, circumstances + lines).rows
        expect([row["backend"] for row in kept] == ["cuda"] and kept[0]["timing"], f"an emulated row {what} a timed one is left out of report and figures")
    expect([row["backend"] for row in load(folder, circumstances + [emulated]).rows] == ["emulator"], "alone it is kept")
    later = copy.deepcopy(real)
    later["timing"]["cold"]["median"] = 12.5
    expect(load(folder, circumstances + [real, later, emulated]).rows[0]["timing"]["cold"]["median"] == 12.5, "among timed rows the later wins")


def judgements_replace(folder):
    golden = [json.loads(line) for line in (SOURCE / "tests/golden/rows.jsonl").read_text().splitlines()]
    claims = [line for line in golden if line["kind"] == "claim"]
    anew = {**claims[0], "verdict": "undecided"}
    for order in ((golden, [anew]), ([anew], golden)):
        found = load(folder, *order).claims
        expect(found == [anew], "a file of claims alone stands for all claims of its scenarios")
    other = {**anew, "scenario": "published/other", "id": "other"}
    expect(len(load(folder, golden, [other]).claims) == len(claims) + 1, "and for those of no other scenario")
    old = [{**c, "rule": "three quarters upwards", "at_least": 1} for c in claims]
    results = load(folder, [line for line in golden if line["kind"] != "claim"] + old)
    expect(not results.claims and any("judge" in w for w in results.warnings), "claims of before there were rules are left out, with a warning")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        emulated_rows_win_nowhere(folder)
        judgements_replace(folder)
        if RELEASE:
            one_verdict_everywhere(folder)
        if CUDA:
            shipped_claims(folder)
        else:
            done = call("judge", SOURCE / "tests/golden/rows.jsonl")
            expect(done.returncode == 4 and "no CUDA variants" in done.stderr, "a build without CUDA does not judge what it does not know", done)


main()
