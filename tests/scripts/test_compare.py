"""`rungs compare` on times whose truth is known: verdicts with their reasons, noise floors, clocks; exit codes and files."""

import json
import re
import sys
import unittest
import xml.etree.ElementTree as xml

import numpy as np
from compare_case import WINDOWS, CompareCase
from program import call
from real_order import stamps

from analysis import statistics


class Times(CompareCase):
    def test_nothing_changed(self):
        told = self.compare(*self.pair())
        self.assertEqual({v: n for v, n in told["counts"].items() if n}, {"same": 8})
        for c in told["comparisons"]:
            self.assertLess(c["low"], c["ratio"])
            self.assertLess(c["ratio"], c["high"])
            self.assertEqual((c["base_processes"], c["new_processes"], c["tested_on"]), (10, 10, "processes"))

    def test_slower_and_faster(self):
        base = self.make("base", 1)
        slower = self.only(self.compare(base, self.make("new", 2, change=self.slowed(30, 1.05)), code=1), "slower")
        self.assertEqual(slower["case"].split()[3], "window=30")
        self.assertAlmostEqual(slower["ratio"], 1.05, delta=0.01)
        self.assertLess(slower["low"], 1.05)
        self.assertGreater(slower["high"], 1.05)
        self.assertLess(slower["p_adjusted"], 0.005)
        self.only(self.compare(base, self.make("new", 2, change=self.slowed(30, 1 / 1.05))), "faster")

    def test_equal_samples(self):
        """Times that are all equal differ by nothing: SciPy 1.18 has no p for them."""
        for told in (
            statistics.u_test(np.ones((2, 6)), np.ones((2, 6))),
            statistics.from_samples([np.ones(1)], [np.ones(1)], 0.1)[3],
        ):
            self.assertTrue((np.asarray(told) == 1).all(), told)

    def test_least_effect(self):
        base, new = self.pair(self.slowed(30, 1.02))
        self.assertEqual(self.compare(base, new)["counts"]["slower"], 0)
        self.only(self.compare(base, new, "--min-effect", "1%", code=1), "slower")

    def test_few_processes_are_ambiguous(self):
        """One process a side: what varies from process to process is not in the samples, however many they are."""
        told = self.compare(*self.pair(self.slowed(30, 1.05), runs=1))
        self.assertEqual((told["counts"]["slower"], told["counts"]["same"]), (0, 0))
        self.assertIn("1 and 1 processes", told["comparisons"][0]["reason"])
        self.assertIn("rungs ab", self.output)
        self.assertEqual(
            self.only(self.compare(*self.pair(self.slowed(30, 1.5), runs=1), code=1), "slower")["tested_on"], "samples"
        )

    def test_kinds_of_tests_are_families(self):
        """7 rows of one process a side, all very different, and one of 10: its p is corrected for all eight, and not helped by the others."""

        def rare(factor):
            def change(row, number):
                return (
                    self.slowed(row["params"]["window"], factor)(row, number)
                    if row["params"]["window"] == 30 or number == 0
                    else None
                )

            return change

        new = self.make(
            "new", 2, change=lambda row, number: rare(1.1 if row["params"]["window"] != 30 else 1.05)(row, number)
        )
        told = self.compare(self.make("base", 1, change=rare(1.0)), new, code=1)
        lone = self.only(told, "slower")
        self.assertEqual((lone["case"].split()[3], lone["tested_on"]), ("window=30", "processes"))
        self.assertAlmostEqual(lone["p_adjusted"], 8 * lone["p"])
        others = [c for c in told["comparisons"] if c is not lone]
        self.assertEqual({c["tested_on"] for c in others}, {"samples"})
        self.assertLess(max(c["p"] for c in others), 0.005)

    def test_noise_floor(self):
        """Calibration lets one process a side be judged, and keeps a loud machine from crying wolf."""
        noise = self.noise_of(self.make("aa", 9, runs=18), "quiet")
        row = json.loads(noise.read_text())["rows"][0]
        self.assertTrue(0.001 < row["spread"] < 0.008, row)
        told = self.compare(*self.pair(self.slowed(30, 1.06), runs=1), "--noise", noise, code=1)
        self.only(told, "slower")
        self.assertTrue(all(0.005 < c["noise_floor"] < 0.055 for c in told["comparisons"]), told["comparisons"])
        loud = self.noise_of(self.make("aa", 9, runs=18, process=0.025), "loud")
        many = self.pair(self.slowed(30, 1.035), process=0.001)
        self.only(self.compare(*many, code=1), "slower")
        told = self.compare(*many, "--noise", loud)
        self.assertIn("noise floor", self.only(told, "ambiguous")["reason"])
        self.assertNotIn("gate cannot fail", self.output)
        self.compare(*self.pair(self.slowed(30, 1.035), process=0.001, rows=WINDOWS[2:3]), "--noise", loud)
        self.assertIn("gate cannot fail", self.output)

    def test_noise_floor_too_high(self):
        """Calibrated on a bad day: processes that show their own spread are believed over it, few of them are not."""
        loud = self.noise_of(self.make("aa", 9, runs=18, process=0.08))
        slower = self.only(self.compare(*self.pair(self.slowed(30, 1.1)), "--noise", loud, code=1), "slower")
        self.assertIn("capped at 3 times the minimum effect", slower["reason"])
        self.assertAlmostEqual(slower["noise_floor"], 0.09)
        self.assertGreater(slower["floor_capped_from"], 0.09)
        self.assertIn(
            "noise floor",
            self.only(self.compare(*self.pair(self.slowed(30, 1.08)), "--noise", loud), "ambiguous")["reason"],
        )
        self.assertIn(
            "noise floor",
            self.only(self.compare(*self.pair(self.slowed(30, 1.1), runs=8), "--noise", loud), "ambiguous")["reason"],
        )

    def test_noise_of_few_processes(self):
        for runs, code in ((8, 3), (9, 0)):
            noise = self.noise_of(self.make("aa", 9, runs=runs), code=code)
            self.assertEqual(noise.exists(), code == 0)
        content = json.loads(noise.read_text())
        content["rows"][3]["processes"] = 8
        noise.write_text(json.dumps(content))
        self.assertIn("a spread from 8 processes", self.compare(*self.pair(), "--noise", noise, code=2))

    def test_noise_of_another_machine(self):
        noise = self.noise_of(self.make("aa", 9, runs=9, gpu={"name": "NVIDIA H100"}))
        self.assertIn("another machine", self.compare(*self.pair(), "--noise", noise, code=2))
        noise.write_text("{}")
        self.assertIn("not a noise file", self.compare(*self.pair(), "--noise", noise, code=2))

    def test_clock_drift_is_no_regression(self):
        """6% slower, because the clock was 6% lower: the same in cycles. The same change at an equal clock is a regression."""
        rows = [{"window": 30, "follows_clock": True}]
        base = self.make("base", 1, rows=rows)
        told = self.only(
            self.compare(base, self.make("new", 2, rows=[{"window": 30, "follows_clock": True, "mhz": 1870.0}])), "same"
        )
        self.assertEqual(told["judged_by"], "cycles")
        self.assertAlmostEqual(told["clock_ratio"], 1870 / 1980, places=3)
        self.assertGreater(told["time_ratio"], 1.04)
        self.assertIn("SM clock -5.6%", told["reason"])
        self.only(self.compare(base, self.make("new", 2, rows=rows, change=self.slowed(30, 1.06)), code=1), "slower")

    def test_clocks_that_jump(self):
        """Clocks jump between processes: 5% is found in cycles for a kernel that follows them, in time for one that does not."""
        for follows, judged_by in ((True, "cycles"), (False, "time")):
            rows = [{"window": 30, "follows_clock": follows, "mhz": [1980.0, 1755.0]}]
            self.assertEqual(
                self.only(self.compare(*self.pair(self.slowed(30, 1.05), rows=rows), code=1), "slower")["judged_by"],
                judged_by,
            )

    def test_strict(self):
        """One process slow throughout makes any change ambiguous for 9 processes; --strict fails where the whole interval is slower."""

        def change(row, number):
            return self.slowed(row["params"]["window"], 1.3 if number == 0 else 1.0)(row, number)

        rows = [{"window": w} for w in range(10, 50)]
        base, new = (
            self.make("base", 1, 9, rows, change=change),
            self.make("new", 2, 9, rows, change=self.slowed(30, 1.1)),
        )
        told = self.compare(base, new)
        self.assertEqual([c["case"].split()[3] for c in told["comparisons"] if c["beyond"]], ["window=30"])
        told = self.compare(base, new, "--strict", code=1, program=True)
        self.assertEqual(told["counts"]["slower"], 0)
        self.assertIn("FAILED: 1 comparison of 40", self.output)

    def test_noise_that_covers_little(self):
        """A noise file of other rows, or made at another clock, is told of."""
        base, new = self.pair(rows=WINDOWS[:4])
        told = self.compare(base, new, "--noise", self.noise_of(self.make("aa", 9, 9, WINDOWS[:3])))
        self.assertIn("noise.json covers 3 of 4 comparisons", told["warnings"][0])
        self.assertEqual(sorted(c["noise_floor"] > 0 for c in told["comparisons"]), [False, True, True, True])
        told = self.compare(
            base, new, "--noise", self.noise_of(self.make("aa", 9, 9, [{**w, "mhz": 1500.0} for w in WINDOWS[:4]]))
        )
        self.assertIn("covers 0 of 4", told["warnings"][0])
        self.assertIn("about 1500 MHz, now 1980 MHz", told["warnings"][1])

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

    def test_a_build_that_lowers_the_clock(self):
        """In a random order a clock that differs is the build's doing: wall time decides, cycles stand beside it."""
        rows = [{"window": 30}]
        for factor, verdict, code in ((1.05, "slower", 1), (1.1, "slower", 1), (1.0, "same", 0)):
            new = self.make("new", 2, rows=[{"window": 30, "mhz": 1980 * 0.92}], change=self.slowed(30, factor))
            told = self.only(
                self.compare(self.drawn(self.make("base", 1, rows=rows), "base"), self.drawn(new, "new"), code=code),
                verdict,
            )
            self.assertEqual((told["judged_by"], told["randomised"]), ("time", True))
            self.assertIn("SM clock -8.0%, cycles", told["reason"])

    def test_what_all_rows_have_in_common(self):
        """Processes that differ by up to 30% in all rows: a row that is 5% slower is found beside the others; rows that are all slower are found as
        such on a quiet machine."""

        def common(factor=1.0, window=None, spread=0.3):
            def change(row, number):
                row["timing"]["cold"]["samples"] = [
                    x * (1 + spread * ((7 * number) % 10) / 10) for x in row["timing"]["cold"]["samples"]
                ]
                return self.slowed(window or row["params"]["window"], factor)(row, number)

            return change

        rows = [{"window": 10 * k} for k in range(1, 13)]
        base = self.drawn(self.make("base", 1, rows=rows, change=common()), "base")
        told = self.compare(base, self.drawn(self.make("new", 2, rows=rows, change=common(1.05, 30)), "new"), code=1)
        slower = self.only(told, "slower")
        self.assertEqual((slower["case"].split()[3], slower["judged_by"]), ("window=30", "adjusted"))
        self.assertIn("times alone", slower["reason"])
        self.assertIn("all 12 rows together: ambiguous", self.output)
        self.assertLess(slower["detectable"], 1.05)
        told = self.compare(
            self.drawn(self.make("base", 1, rows=rows), "base"),
            self.drawn(self.make("new", 2, rows=rows, change=common(1.05, spread=0)), "new"),
            code=1,
        )
        self.assertEqual((told["counts"]["slower"], told["together"][0]["verdict"]), (12, "slower"))

    def test_must_detect(self):
        """A machine too loud for what is asked of it fails, or warns; and most rows ambiguous is told in one line."""
        loud = self.pair(process=0.04)
        self.assertEqual(self.compare(*loud, "--must-detect", "5%,warn")["exit"], 0)
        self.assertIn("8 comparisons could not have shown a slow-down of 5%", self.output)
        self.assertRegex(self.output, r"note: most rows are ambiguous \(\d of 8\).*nvidia-smi -lgc")
        self.compare(*loud, "--must-detect", "5%", code=1)
        told = self.compare(*self.pair(), "--must-detect", "5%", code=0)
        self.assertTrue(all(1.03 <= c["detectable"] < 1.05 for c in told["comparisons"]))
        self.assertIn("expected a percentage", self.compare(*loud, "--must-detect", "5%,loudly", code=2))

    def test_nothing_and_bad_files(self):
        base = self.make("base", 1)
        empty = self.folder / "empty.jsonl"
        empty.write_text("")
        self.compare(empty, empty, code=3, program=True)
        self.assertIn("nothing was compared", self.output)
        self.compare(base, empty, code=3)
        self.assertIn("cannot be read", self.compare(base, self.folder / "none.jsonl", code=2, program=True))
        empty.write_text("{oops\n")
        self.assertIn("empty.jsonl:1:", self.compare(base, empty, code=2))
        self.assertIn("percent", self.compare(base, base, "--min-effect", "much", code=2, program=True))
        self.assertIn("lukewarm", self.compare(base, base, "--modes", "cold,lukewarm", code=2, program=True))
        self.assertEqual(call("compare", base).returncode, 2)
        orphan = self.make("orphan", 1)
        self.rewrite(orphan, lambda lines: [line for line in lines if line["kind"] != "environment"])
        self.assertIn("environment", self.compare(base, orphan, code=3)["comparisons"][0]["reason"])

    def test_files(self):
        """Table, Markdown and JUnit tell the counts of the JSON."""

        def change(row, number):
            return None if row["params"]["window"] == 20 else self.slowed(30, 1.1)(row, number)

        markdown, junit = self.folder / "c.md", self.folder / "c.xml"
        told = self.compare(*self.pair(change), "--markdown", markdown, "--junit", junit, code=1, program=True)
        self.assertEqual((told["counts"]["slower"], told["counts"]["missing"], told["counts"]["same"]), (1, 1, 6))
        self.assertIn("8 comparisons: 1 slower, 1 missing, 6 same", self.output)
        self.assertTrue(self.output.splitlines()[2].startswith("slower"), self.output)
        self.assertNotIn("\033", self.output)
        suite = xml.parse(junit).getroot().find("testsuite")
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("8", "2"))
        self.assertEqual(len(suite.findall("testcase/failure")), 2)
        text = markdown.read_text()
        self.assertIn("failed", text.splitlines()[2])
        self.assertEqual(len(re.findall(r"^\| (?!verdict)\S", text, re.M)), 8)


if __name__ == "__main__":
    sys.exit(not unittest.main(exit=False, verbosity=2).result.wasSuccessful())
