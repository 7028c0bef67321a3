"""`rungs compare` on times whose truth is known: verdicts with their reasons, noise floors, clocks; exit codes and files."""

import json
import re
import xml.etree.ElementTree as xml

import pytest
import numpy as np
from compare_case import WINDOWS, CompareCase
from program import call
from real_order import stamps

from analysis import statistics


class Times(CompareCase):
    def drawn(self, path, side, seed=7):
        """With the stamps of `rungs ab`."""

        def change(lines):
            for line, stamp in zip(
                (line for line in lines if line["kind"] == "environment"), stamps(10, seed)[side], strict=True
            ):
                line["ab"] = stamp
            return lines

        self.rewrite(path, change)
        return path


@pytest.fixture
def case(folder):
    return Times(folder)


def test_nothing_changed(case):
    told = case.compare(*case.pair())
    assert {v: n for v, n in told["counts"].items() if n} == {"same": 8}
    for c in told["comparisons"]:
        assert c["low"] < c["ratio"]
        assert c["ratio"] < c["high"]
        assert (c["base_processes"], c["new_processes"], c["tested_on"]) == (10, 10, "processes")


def test_slower_and_faster(case):
    base = case.make("base", 1)
    slower = case.only(case.compare(base, case.make("new", 2, change=case.slowed(30, 1.05)), code=1), "slower")
    assert slower["case"].split()[3] == "window=30"
    assert slower["ratio"] == pytest.approx(1.05, abs=0.01)
    assert slower["low"] < 1.05
    assert slower["high"] > 1.05
    assert slower["p_adjusted"] < 0.005
    case.only(case.compare(base, case.make("new", 2, change=case.slowed(30, 1 / 1.05))), "faster")


def test_equal_samples():
    """Times that are all equal differ by nothing: SciPy 1.18 has no p for them."""
    for told in (
        statistics.u_test(np.ones((2, 6)), np.ones((2, 6))),
        statistics.from_samples([np.ones(1)], [np.ones(1)], 0.1)[3],
    ):
        assert (np.asarray(told) == 1).all(), told


def test_least_effect(case):
    base, new = case.pair(case.slowed(30, 1.02))
    assert case.compare(base, new)["counts"]["slower"] == 0
    case.only(case.compare(base, new, "--min-effect", "1%", code=1), "slower")


def test_few_processes_are_ambiguous(case):
    """One process a side: what varies from process to process is not in the samples, however many they are."""
    told = case.compare(*case.pair(case.slowed(30, 1.05), runs=1))
    assert (told["counts"]["slower"], told["counts"]["same"]) == (0, 0)
    assert "1 and 1 processes" in told["comparisons"][0]["reason"]
    assert "rungs ab" in case.output
    assert case.only(case.compare(*case.pair(case.slowed(30, 1.5), runs=1), code=1), "slower")["tested_on"] == "samples"


def test_kinds_of_tests_are_families(case):
    """7 rows of one process a side, all very different, and one of 10: its p is corrected for all eight, and not helped by the others."""

    def rare(factor):
        def change(row, number):
            return (
                case.slowed(row["params"]["window"], factor)(row, number)
                if row["params"]["window"] == 30 or number == 0
                else None
            )

        return change

    new = case.make(
        "new", 2, change=lambda row, number: rare(1.1 if row["params"]["window"] != 30 else 1.05)(row, number)
    )
    told = case.compare(case.make("base", 1, change=rare(1.0)), new, code=1)
    lone = case.only(told, "slower")
    assert (lone["case"].split()[3], lone["tested_on"]) == ("window=30", "processes")
    assert lone["p_adjusted"] == pytest.approx(8 * lone["p"], abs=0.5e-7)
    others = [c for c in told["comparisons"] if c is not lone]
    assert {c["tested_on"] for c in others} == {"samples"}
    assert max(c["p"] for c in others) < 0.005


def test_noise_floor(case):
    """Calibration lets one process a side be judged, and keeps a loud machine from crying wolf."""
    noise = case.noise_of(case.make("aa", 9, runs=18), "quiet")
    row = json.loads(noise.read_text())["rows"][0]
    assert 0.001 < row["spread"] < 0.008, row
    told = case.compare(*case.pair(case.slowed(30, 1.06), runs=1), "--noise", noise, code=1)
    case.only(told, "slower")
    assert all(0.005 < c["noise_floor"] < 0.055 for c in told["comparisons"]), told["comparisons"]
    loud = case.noise_of(case.make("aa", 9, runs=18, process=0.025), "loud")
    many = case.pair(case.slowed(30, 1.035), process=0.001)
    case.only(case.compare(*many, code=1), "slower")
    told = case.compare(*many, "--noise", loud)
    assert "noise floor" in case.only(told, "ambiguous")["reason"]
    assert "gate cannot fail" not in case.output
    case.compare(*case.pair(case.slowed(30, 1.035), process=0.001, rows=WINDOWS[2:3]), "--noise", loud)
    assert "gate cannot fail" in case.output


def test_noise_floor_too_high(case):
    """Calibrated on a bad day: processes that show their own spread are believed over it, few of them are not."""
    loud = case.noise_of(case.make("aa", 9, runs=18, process=0.08))
    slower = case.only(case.compare(*case.pair(case.slowed(30, 1.1)), "--noise", loud, code=1), "slower")
    assert "capped at 3 times the minimum effect" in slower["reason"]
    assert slower["noise_floor"] == pytest.approx(0.09, abs=0.5e-7)
    assert slower["floor_capped_from"] > 0.09
    assert (
        "noise floor"
        in case.only(case.compare(*case.pair(case.slowed(30, 1.08)), "--noise", loud), "ambiguous")["reason"]
    )
    assert (
        "noise floor"
        in case.only(case.compare(*case.pair(case.slowed(30, 1.1), runs=8), "--noise", loud), "ambiguous")["reason"]
    )


def test_noise_of_few_processes(case):
    for runs, code in ((8, 3), (9, 0)):
        noise = case.noise_of(case.make("aa", 9, runs=runs), code=code)
        assert noise.exists() == (code == 0)
    content = json.loads(noise.read_text())
    content["rows"][3]["processes"] = 8
    noise.write_text(json.dumps(content))
    assert "a spread from 8 processes" in case.compare(*case.pair(), "--noise", noise, code=2)


def test_noise_of_another_machine(case):
    noise = case.noise_of(case.make("aa", 9, runs=9, gpu={"name": "NVIDIA H100"}))
    assert "another machine" in case.compare(*case.pair(), "--noise", noise, code=2)
    noise.write_text("{}")
    assert "not a noise file" in case.compare(*case.pair(), "--noise", noise, code=2)


def test_clock_drift_is_no_regression(case):
    """6% slower, because the clock was 6% lower: the same in cycles. The same change at an equal clock is a regression."""
    rows = [{"window": 30, "follows_clock": True}]
    base = case.make("base", 1, rows=rows)
    told = case.only(
        case.compare(base, case.make("new", 2, rows=[{"window": 30, "follows_clock": True, "mhz": 1870.0}])), "same"
    )
    assert told["judged_by"] == "cycles"
    assert told["clock_ratio"] == pytest.approx(1870 / 1980, abs=0.5e-3)
    assert told["time_ratio"] > 1.04
    assert "SM clock -5.6%" in told["reason"]
    case.only(case.compare(base, case.make("new", 2, rows=rows, change=case.slowed(30, 1.06)), code=1), "slower")


def test_clocks_that_jump(case):
    """Clocks jump between processes: 5% is found in cycles for a kernel that follows them, in time for one that does not."""
    for follows, judged_by in ((True, "cycles"), (False, "time")):
        rows = [{"window": 30, "follows_clock": follows, "mhz": [1980.0, 1755.0]}]
        assert (
            case.only(case.compare(*case.pair(case.slowed(30, 1.05), rows=rows), code=1), "slower")["judged_by"]
            == judged_by
        )


def test_strict(case):
    """One process slow throughout makes any change ambiguous for 9 processes; --strict fails where the whole interval is slower."""

    def change(row, number):
        return case.slowed(row["params"]["window"], 1.3 if number == 0 else 1.0)(row, number)

    rows = [{"window": w} for w in range(10, 50)]
    base, new = (
        case.make("base", 1, 9, rows, change=change),
        case.make("new", 2, 9, rows, change=case.slowed(30, 1.1)),
    )
    told = case.compare(base, new)
    assert [c["case"].split()[3] for c in told["comparisons"] if c["beyond"]] == ["window=30"]
    told = case.compare(base, new, "--strict", code=1, program=True)
    assert told["counts"]["slower"] == 0
    assert "FAILED: 1 comparison of 40" in case.output


def test_noise_that_covers_little(case):
    """A noise file of other rows, or made at another clock, is told of."""
    base, new = case.pair(rows=WINDOWS[:4])
    told = case.compare(base, new, "--noise", case.noise_of(case.make("aa", 9, 9, WINDOWS[:3])))
    assert "noise.json covers 3 of 4 comparisons" in told["warnings"][0]
    assert sorted(c["noise_floor"] > 0 for c in told["comparisons"]) == [False, True, True, True]
    told = case.compare(
        base, new, "--noise", case.noise_of(case.make("aa", 9, 9, [{**w, "mhz": 1500.0} for w in WINDOWS[:4]]))
    )
    assert "covers 0 of 4" in told["warnings"][0]
    assert "about 1500 MHz, now 1980 MHz" in told["warnings"][1]


def test_a_build_that_lowers_the_clock(case):
    """In a random order a clock that differs is the build's doing: wall time decides, cycles stand beside it."""
    rows = [{"window": 30}]
    for factor, verdict, code in ((1.05, "slower", 1), (1.1, "slower", 1), (1.0, "same", 0)):
        new = case.make("new", 2, rows=[{"window": 30, "mhz": 1980 * 0.92}], change=case.slowed(30, factor))
        told = case.only(
            case.compare(case.drawn(case.make("base", 1, rows=rows), "base"), case.drawn(new, "new"), code=code),
            verdict,
        )
        assert (told["judged_by"], told["randomised"]) == ("time", True)
        assert "SM clock -8.0%, cycles" in told["reason"]


def test_what_all_rows_have_in_common(case):
    """Processes that differ by up to 30% in all rows: a row that is 5% slower is found beside the others; rows that are all slower are found as
    such on a quiet machine."""

    def common(factor=1.0, window=None, spread=0.3):
        def change(row, number):
            row["timing"]["cold"]["samples"] = [
                x * (1 + spread * ((7 * number) % 10) / 10) for x in row["timing"]["cold"]["samples"]
            ]
            return case.slowed(window or row["params"]["window"], factor)(row, number)

        return change

    rows = [{"window": 10 * k} for k in range(1, 13)]
    base = case.drawn(case.make("base", 1, rows=rows, change=common()), "base")
    told = case.compare(base, case.drawn(case.make("new", 2, rows=rows, change=common(1.05, 30)), "new"), code=1)
    slower = case.only(told, "slower")
    assert (slower["case"].split()[3], slower["judged_by"]) == ("window=30", "adjusted")
    assert "times alone" in slower["reason"]
    assert "all 12 rows together: ambiguous" in case.output
    assert slower["detectable"] < 1.05
    told = case.compare(
        case.drawn(case.make("base", 1, rows=rows), "base"),
        case.drawn(case.make("new", 2, rows=rows, change=common(1.05, spread=0)), "new"),
        code=1,
    )
    assert (told["counts"]["slower"], told["together"][0]["verdict"]) == (12, "slower")


def test_must_detect(case):
    """A machine too loud for what is asked of it fails, or warns; and most rows ambiguous is told in one line."""
    loud = case.pair(process=0.04)
    assert case.compare(*loud, "--must-detect", "5%,warn")["exit"] == 0
    assert "8 comparisons could not have shown a slow-down of 5%" in case.output
    assert re.search(r"note: most rows are ambiguous \(\d of 8\).*nvidia-smi -lgc", case.output)
    case.compare(*loud, "--must-detect", "5%", code=1)
    told = case.compare(*case.pair(), "--must-detect", "5%", code=0)
    assert all(1.03 <= c["detectable"] < 1.05 for c in told["comparisons"])
    assert "expected a percentage" in case.compare(*loud, "--must-detect", "5%,loudly", code=2)


def test_nothing_and_bad_files(case):
    base = case.make("base", 1)
    empty = case.folder / "empty.jsonl"
    empty.write_text("")
    case.compare(empty, empty, code=3, program=True)
    assert "nothing was compared" in case.output
    case.compare(base, empty, code=3)
    assert "cannot be read" in case.compare(base, case.folder / "none.jsonl", code=2, program=True)
    empty.write_text("{oops\n")
    assert "empty.jsonl:1:" in case.compare(base, empty, code=2)
    assert "percent" in case.compare(base, base, "--min-effect", "much", code=2, program=True)
    assert "lukewarm" in case.compare(base, base, "--modes", "cold,lukewarm", code=2, program=True)
    assert call("compare", base).returncode == 2
    orphan = case.make("orphan", 1)
    case.rewrite(orphan, lambda lines: [line for line in lines if line["kind"] != "environment"])
    assert "environment" in case.compare(base, orphan, code=3)["comparisons"][0]["reason"]


def test_files(case):
    """Table, Markdown and JUnit tell the counts of the JSON."""

    def change(row, number):
        return None if row["params"]["window"] == 20 else case.slowed(30, 1.1)(row, number)

    markdown, junit = case.folder / "c.md", case.folder / "c.xml"
    told = case.compare(*case.pair(change), "--markdown", markdown, "--junit", junit, code=1, program=True)
    assert (told["counts"]["slower"], told["counts"]["missing"], told["counts"]["same"]) == (1, 1, 6)
    assert "8 comparisons: 1 slower, 1 missing, 6 same" in case.output
    assert case.output.splitlines()[2].startswith("slower"), case.output
    assert "\x1b" not in case.output
    suite = xml.parse(junit).getroot().find("testsuite")
    assert (suite.get("tests"), suite.get("failures")) == ("8", "2")
    assert len(suite.findall("testcase/failure")) == 2
    text = markdown.read_text()
    assert "failed" in text.splitlines()[2]
    assert len(re.findall(r"^\| (?!verdict|---)\S", text, re.M)) == 8
