"""`rungs compare` on which rows it holds against which: lost, missing, new, wrong, not comparable, of equal code; and that order means nothing."""

import json
import random
import sys
import types
import xml.etree.ElementTree as xml

import pytest
from compare_case import WINDOWS, CompareCase
from compare_rows import not_passed
from program import SOURCE

try:
    from jsonschema import Draft202012Validator

    from analysis.compare import again
    from analysis.compare.join import Comparison
except ImportError as error:
    print(error)
    sys.exit(77)


@pytest.fixture
def case(folder):
    return CompareCase(folder)


def test_rows_are_valid(case):
    """What these tests compare are rows as the program writes them."""
    validator = Draft202012Validator(json.loads((SOURCE / "harness/record/row.schema.json").read_text()))
    for line in map(json.loads, case.make("base", 1, runs=1).read_text().splitlines()):
        assert [e.message for e in validator.iter_errors(line)] == []


def test_peers_on_both_devices(case):
    """A peer belongs to the device that its clock says: one suite may have peers of both."""

    def peers(row, number):
        row["backend"] = "peer"
        if row["params"]["window"] == 30:
            row["timing"]["cold"].update(clock="CLOCK_MONOTONIC", sm_mhz=[])
        return row

    noise = case.noise_of(case.make("aa", 9, runs=9, change=peers))
    assert sorted(json.loads(noise.read_text())["machines"]) == ["cpu", "cuda"]
    told = case.compare(*case.pair(peers, peers), "--noise", noise)
    assert all(c["noise_floor"] > 0 for c in told["comparisons"]), told["comparisons"]


def test_different_builds_of_one_side(case):
    base = case.make("base", 1)
    for change in ({"commit": "f" * 40}, {"dirty": True}):
        pooled = case.make("pooled", 1)
        case.rewrite(pooled, lambda lines, change=change: [{**lines[0], **change}, *lines[1:]])
        for pair in ((base, pooled), (pooled, base)):
            other = "commit" in change
            told = case.compare(*pair, code=2 if other else 0)
            told = told if other else " ".join(told["warnings"])
            assert "0123456789ab, " + ("f" * 12 if other else "0123456789ab+changes") in told
            assert "another --out" in told
        case.noise_of(pooled, code=2 if other else 0)


def test_verification_lost(case):
    def wrong(row, number):
        return not_passed(row, "fail", "y[3] is nan\x07") if number == 7 and row["params"]["window"] == 30 else row

    told = case.compare(*case.pair(wrong), "--junit", case.folder / "j.xml", code=1)
    assert "y[3] is nan" in case.only(told, "wrong")["reason"]
    xml.parse(case.folder / "j.xml")  # what a variant prints must not break the file
    for code, change in ((1, case.slowed(20, 1.2)), (0, None)):  # wrong in both: nothing lost

        def bad(row, number):
            return not_passed(row, "fail", "bad") if row["params"]["window"] == 30 else row

        def both(row, number, change=change):
            return bad(change(row, number) if change else row, number)

        assert len(case.compare(*case.pair(both, bad), code=code)["comparisons"]) == 7


def test_some_processes_lost(case):
    """A side is right if most of its processes are; the others are counted, and never hide a change."""

    def lost(count, verdict="error", factor=1.0):
        def change(row, number):
            row = case.slowed(30, factor)(row, number)
            return not_passed(row, verdict, "a time-out") if number < count and row["params"]["window"] == 30 else row

        return change

    def pair(base, new, code):
        told = case.compare(*case.pair(new, base), code=code)["comparisons"]
        return {c["verdict"]: c for c in told if "window=30 " in c["case"]}

    slower = pair(lost(1), lost(0, factor=3.0), 1)
    assert [(v, c["base_processes"], c["new_processes"]) for v, c in slower.items()] == [("slower", 9, 10)]
    wrong = pair(lost(1), lost(10, "fail"), 1)
    assert list(wrong) == ["wrong"]
    assert "9 of 10 in BASE, 0 of 10 in NEW" in wrong["wrong"]["reason"]
    both = pair(lost(2), lost(1), 0)
    assert sorted(both) == ["ambiguous", "same"]
    assert "8 of 10 in BASE, 9 of 10 in NEW" in both["ambiguous"]["reason"]
    assert list(pair(lost(8), lost(6), 0)) == ["ambiguous"]
    assert list(pair(lost(8), lost(9), 1)) == ["wrong"]
    assert list(pair(lost(8), lost(0), 0)) == ["no base"]
    assert list(pair(lost(0), lost(9, "skip"), 1)) == ["missing"]
    assert list(pair(lost(9, "skip"), lost(9, "skip"), 0)) == ["ambiguous"]
    assert pair(lost(10), lost(10), 0) == {}


def test_rows_lost_in_some_processes(case):
    """Not there, skipped or not timed in more of NEW's processes than of BASE's: told beside what the times say."""

    def lost(count, how="absent"):
        def change(row, number):
            if number >= count or row["params"]["window"] != 30:
                return row
            if how == "absent":
                return None
            if how == "skip":
                return not_passed(row, "skip", "no room")
            row.update(timing=None, why_not_timed=how)
            return row

        return change

    def pair(base, new, code, new_runs=10, rows=WINDOWS[1:4]):
        told = case.compare(
            case.make("base", 1, rows=rows, change=base),
            case.make("new", 2, new_runs, rows=rows, change=new),
            code=code,
        )
        return {c["verdict"]: c["reason"] for c in told["comparisons"] if "window=30 " in c["case"]}

    skipped = pair(None, lost(4, "skip"), 1)
    assert sorted(skipped) == ["missing", "same"]
    assert "no room (processes that have it: 10 of 10 in BASE, 6 of 10 in NEW)" in skipped["missing"]
    assert "1 of 10 in NEW" in pair(None, lost(9), 1)["missing"]
    assert "1 of 10 in NEW" in pair(None, lost(9), 1, rows=[{"window": 30}])["missing"], (
        "the run is there, if only by its environment"
    )
    assert (
        "a budget (timed: 10 of 10 processes in BASE, 1 of 10 in NEW)" in pair(None, lost(9, "a budget"), 1)["missing"]
    )
    assert list(pair(None, lost(1, "verify only"), 0)) == ["same"], "was to take no times"
    for base, new, runs in ((lost(4), lost(4), 10), (lost(4), lost(8), 20), (lost(4), None, 10)):
        assert "missing" not in pair(base, new, 0, runs)


def test_runs_that_could_hold_a_row(case):
    """Those asked for other rows could not; one that resumes another is none of its own."""
    base = case.make("base", 1, rows=WINDOWS[1:4])
    new = case.make("new", 2, rows=WINDOWS[1:4])
    lines = [json.loads(line) for line in new.read_text().splitlines()]
    runs = list(dict.fromkeys(line["run"] for line in lines))
    split = [line for line in lines if not (line["run"] == runs[0] and "window=30 " in line.get("case", ""))]
    asked = next(line for line in lines if line["kind"] == "environment")["argv"]
    rest = [
        {**line, "run": "20270102T000000Z-00000000"}
        for line in lines
        if line["run"] == runs[0] and (line["kind"] == "environment" or "window=30 " in line["case"])
    ]
    for words, code in ((["--resume"], 0), (["--resume", "--out", "elsewhere.jsonl"], 0), ([], 1)):
        rest[0]["argv"] = [*asked, *words]
        new.write_text("".join(json.dumps(line) + "\n" for line in split + rest))
        told = case.compare(base, new, code=code)
        assert told["counts"]["missing"] == (3 if code else 0)
    other = [{**line, "run": "20270102T000000Z-00000001"} for line in rest if "window=30 " not in line.get("case", "")]
    other[0]["argv"] = [*asked, "--variants", "another"]
    new.write_text("".join(json.dumps(line) + "\n" for line in lines + other))
    assert case.compare(base, new)["counts"]["missing"] == 0


def test_rows_of_before_join(case):
    """What an older program spelt otherwise is the same case."""

    def spelt(adjust, span):
        def change(row, number):
            row.update(
                op="ewm",
                params={"n": 10, "span": 300, "adjust": adjust},
                case=f"ewm n=10 span={span} adjust={adjust} dtype=f64 input=uniform seed=1",
            )
            return row

        return change

    told = case.compare(*case.pair(spelt("true", "300"), spelt("true", "3e+02"), rows=WINDOWS[:1]))
    assert case.only(told, "same")["case"] == "ewm n=10 span=300 adjust=true dtype=f64 input=uniform seed=1"


def test_new_and_wrong(case):
    rows = WINDOWS + [{"window": 500}]
    new = case.make(
        "new",
        2,
        rows=rows,
        change=lambda row, k: not_passed(row, "fail", "bad") if row["params"]["window"] == 500 else row,
    )
    assert (
        "not in BASE, failed in NEW: bad"
        in case.only(case.compare(case.make("base", 1), new, code=1), "wrong")["reason"]
    )


def test_missing_and_new(case):
    base, new = case.make("base", 1), case.make("new", 2, rows=WINDOWS[1:] + [{"window": 500}])
    told = case.compare(base, new, code=1)
    assert "window=10 " in case.only(told, "missing")["case"]
    assert "window=500" in case.only(told, "new")["case"]
    assert case.only(case.compare(base, new, "--allow-missing", "*window=10 *"), "missing")["allowed"]
    case.compare(base, new, "--allow-missing", "cuda_sh*,x")
    case.compare(base, new, "--allow-missing", "cpu_*", code=1)
    skipped = case.make(
        "new",
        2,
        change=lambda row, k: not_passed(row, "skip", "window too wide") if row["params"]["window"] == 30 else row,
    )
    assert "window too wide" in case.only(case.compare(base, skipped, code=1), "missing")["reason"]


def test_a_mode_missing(case):
    rows = [{"window": 30, "modes": ("cold", "hot")}]
    told = case.compare(case.make("base", 1, rows=rows), case.make("new", 2, rows=[{"window": 30}]), code=1)
    assert case.only(told, "missing")["mode"] == "hot"
    told = case.compare(case.make("base", 1, rows=rows), case.make("new", 2, rows=[{"window": 30}]), "--modes", "cold")
    assert len(told["comparisons"]) == 1


def test_not_comparable(case):
    base = case.make("base", 1)
    for gpu, words in (
        ({"name": "NVIDIA H100"}, "device NVIDIA H200 and NVIDIA H100"),
        ({"driver": "999.1"}, "driver major"),
        ({"power_cap_watts": 500}, "power cap watts"),
        ({"clocks_sm_max": 1200}, "clocks sm max"),
        ({"mig": True}, "mig"),
        ({"sm_count": 16}, "sm count"),
    ):
        told = case.compare(base, case.make("new", 2, gpu=gpu), code=3)
        assert told["counts"]["not comparable"] == 8
        assert words in told["comparisons"][0]["reason"]
    case.compare(
        base, case.make("new", 2, gpu={"driver": "580.200.01", "uuid": "GPU-another"})
    )  # the same kind of machine
    told = case.compare(base, case.make("new", 2, rows=[{**w, "mhz": 1200.0} for w in WINDOWS]), code=3)
    assert "locked differently" in told["comparisons"][0]["reason"]


def test_renamed(case):
    """By the hashes of its code: compared under the new name. Another that goes is missing all the same."""

    def coded(names, code):
        def change(row, number):
            row["variant"] = row["spec"] = names[row["params"]["window"] == 30]
            row["code"] = {"sass_hash": code[row["params"]["window"] == 30], "host_hash": "b" * 16, "reason": None}
            return row

        return change

    a, b, c = (letter * 16 for letter in "abc")
    old, new = (
        coded(["rolling/cuda_one", "rolling/cuda_two"], [a, b]),
        coded(["rolling/cuda_uno", "rolling/cuda_due"], [a, c]),
    )
    told = case.compare(*case.pair(new, old), code=1)
    assert {x["spec"]: x["verdict"] for x in told["comparisons"]} == {
        "rolling/cuda_uno": "same",
        "rolling/cuda_due": "new",
        "rolling/cuda_two": "missing",
    }
    assert all(
        (x["reason"] or "").startswith("renamed from rolling/cuda_one") == (x["spec"] == "rolling/cuda_uno")
        for x in told["comparisons"]
    )

    times = types.SimpleNamespace(start=0.2, process=1.0, limit=1e3)
    one, other = (Comparison(case="x", spec=name, mode="complete", ratio=1.1, promising=True) for name in ("a", "b"))
    assert again.choose([one, other], times)[1][2] == "a,b"
    other.reason = "renamed from c"
    assert again.choose([one, other], times)[1][2] == "a", "a second stage needs a name that both builds know"
    assert again.choose([other], times) == ([], None)


def test_throttled(case):
    """Processes whose device was held down are left out and counted; where none is left nothing is compared."""

    def hot(which):
        def change(row, number):
            if number in which and row["params"]["window"] == 30:
                row["timing"]["cold"]["circumstances"] = {
                    "watts": [1, 1],
                    "celsius": [90, 90],
                    "reasons": ["hardware thermal slowdown"],
                    "throttled": True,
                }
                row["timing"]["cold"]["samples"] = [2 * x for x in row["timing"]["cold"]["samples"]]
            return row

        return change

    told = case.compare(*case.pair(hot({3}), runs=11))
    assert told["counts"]["same"] == 8
    assert "throttled (heat or power brake) and left out: 0 process times of BASE, 1 of NEW" in case.output
    (row,) = (c for c in told["comparisons"] if any(c["throttled"]))
    assert (row["base_processes"], row["new_processes"]) == (11, 10)
    assert (
        "throttled in all processes of NEW"
        in case.only(case.compare(*case.pair(hot(range(11)), runs=11), code=1), "not comparable")["reason"]
    )


def test_unknown_circumstances(case):
    """Known on one side only: another machine, for all that is known. On neither: compared, and told of."""
    base, blank = case.make("base", 1), case.make("blank", 3, gpu={"power_cap_watts": None, "mig": None})
    assert case.compare(base, base)["warnings"] == []
    for pair, words in (
        ((base, blank), "power cap watts 700 and unknown"),
        ((blank, base), "power cap watts unknown and 700"),
    ):
        assert words in case.compare(*pair, code=3)["comparisons"][0]["reason"]
    told = case.compare(blank, case.make("new", 2, gpu={"power_cap_watts": None, "mig": None}))
    assert told["counts"]["same"] == 8
    assert told["comparisons"][0]["unknown"] == ["power cap watts", "mig"]
    assert told["warnings"] == [
        "unknown on both sides and assumed equal: power cap watts (8 of 8 comparisons), mig (8 of 8 comparisons)"
    ]
    assert "note: unknown on both sides" in case.output


def test_other_inputs(case):
    def seeded(row, number):
        if row["params"]["window"] == 30:
            row["seed"], row["case"] = 2, row["case"].replace("seed=1", "seed=2")
        return row

    told = case.compare(*case.pair(seeded), code=1)
    assert "seed 1 in BASE, input uniform, seed 2 in NEW" in case.only(told, "not comparable")["reason"]
    assert len(told["comparisons"]) == 8


def test_equal_code_cannot_regress(case):
    def coded(sass, threads, factor=1.0, host="c" * 16):
        def change(row, number):
            row["code"] = {"sass_hash": sass, "host_hash": host, "reason": None}
            row["launch"] = {"device": "cuda", "threads": threads} if threads else None
            return case.slowed(30, factor)(row, number)

        return change

    base = case.make("base", 1, change=coded("a" * 16, 128))
    told = case.compare(base, case.make("new", 2, change=coded("a" * 16, 128, 1.2)))
    assert told["counts"]["same"] == 8
    assert all("code did not change" in c["reason"] for c in told["comparisons"])
    assert [c["case"].split()[3] for c in told["comparisons"] if "times differ by +" in c["reason"]] == ["window=30"]

    def with_memory(factor):
        def change(row, number):
            row["tunables"], row["spec"] = {"memory": "pool"}, row["spec"] + " memory=pool"
            return coded("a" * 16, 128, factor)(row, number)

        return change

    case.only(
        case.compare(*case.pair(with_memory(1.2), with_memory(1)), code=1), "slower"
    )  # what it allocates from is the harness's code
    base = case.make("base", 1, change=coded("a" * 16, 128))
    for other in (coded("b" * 16, 128, 1.2), coded("a" * 16, 256, 1.2), coded("a" * 16, 128, 1.2, "d" * 16)):
        case.only(case.compare(base, case.make("new", 2, change=other), code=1), "slower")
    case.only(case.compare(*case.pair(coded("a" * 16, None, 1.2), coded("a" * 16, None)), code=1), "slower")
    hosts = [{"window": 30, "modes": ("enqueue",)}]  # host time: equal kernels say nothing
    case.only(case.compare(*case.pair(coded("a" * 16, 128, 1.2), coded("a" * 16, 128), rows=hosts), code=1), "slower")


def test_order_means_nothing(case):
    base, new = case.pair(case.slowed(30, 1.05))
    told = case.compare(base, new, code=1)["comparisons"]
    for path in (base, new):
        case.rewrite(path, lambda lines: random.Random(4).sample(lines, len(lines)))
    again = case.compare(base, new, code=1)["comparisons"]
    assert [(c["case"], c["verdict"]) for c in told] == [(c["case"], c["verdict"]) for c in again]
