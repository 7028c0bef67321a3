"""`rungs compare` on which rows it holds against which: lost, missing, new, wrong, not comparable, of equal code; and that order means nothing."""

import json
import random
import sys
import types
import unittest
import xml.etree.ElementTree as xml

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


class Joins(CompareCase):
    def test_rows_are_valid(self):
        """What these tests compare are rows as the program writes them."""
        validator = Draft202012Validator(json.loads((SOURCE / "harness/record/row.schema.json").read_text()))
        for line in map(json.loads, self.make("base", 1, runs=1).read_text().splitlines()):
            self.assertEqual([e.message for e in validator.iter_errors(line)], [])

    def test_peers_on_both_devices(self):
        """A peer belongs to the device that its clock says: one suite may have peers of both."""

        def peers(row, number):
            row["backend"] = "peer"
            if row["params"]["window"] == 30:
                row["timing"]["cold"].update(clock="CLOCK_MONOTONIC", sm_mhz=[])
            return row

        noise = self.noise_of(self.make("aa", 9, runs=9, change=peers))
        self.assertEqual(sorted(json.loads(noise.read_text())["machines"]), ["cpu", "cuda"])
        told = self.compare(*self.pair(peers, peers), "--noise", noise)
        self.assertTrue(all(c["noise_floor"] > 0 for c in told["comparisons"]), told["comparisons"])

    def test_different_builds_of_one_side(self):
        base = self.make("base", 1)
        for change in ({"commit": "f" * 40}, {"dirty": True}):
            pooled = self.make("pooled", 1)
            self.rewrite(pooled, lambda lines, change=change: [{**lines[0], **change}, *lines[1:]])
            for pair in ((base, pooled), (pooled, base)):
                other = "commit" in change
                told = self.compare(*pair, code=2 if other else 0)
                told = told if other else " ".join(told["warnings"])
                self.assertIn("0123456789ab, " + ("f" * 12 if other else "0123456789ab+changes"), told)
                self.assertIn("another --out", told)
            self.noise_of(pooled, code=2 if other else 0)

    def test_verification_lost(self):
        def wrong(row, number):
            return not_passed(row, "fail", "y[3] is nan\x07") if number == 7 and row["params"]["window"] == 30 else row

        told = self.compare(*self.pair(wrong), "--junit", self.folder / "j.xml", code=1)
        self.assertIn("y[3] is nan", self.only(told, "wrong")["reason"])
        xml.parse(self.folder / "j.xml")  # what a variant prints must not break the file
        for code, change in ((1, self.slowed(20, 1.2)), (0, None)):  # wrong in both: nothing lost

            def bad(row, number):
                return not_passed(row, "fail", "bad") if row["params"]["window"] == 30 else row

            def both(row, number, change=change):
                return bad(change(row, number) if change else row, number)

            self.assertEqual(len(self.compare(*self.pair(both, bad), code=code)["comparisons"]), 7)

    def test_some_processes_lost(self):
        """A side is right if most of its processes are; the others are counted, and never hide a change."""

        def lost(count, verdict="error", factor=1.0):
            def change(row, number):
                row = self.slowed(30, factor)(row, number)
                return (
                    not_passed(row, verdict, "a time-out") if number < count and row["params"]["window"] == 30 else row
                )

            return change

        def pair(base, new, code):
            told = self.compare(*self.pair(new, base), code=code)["comparisons"]
            return {c["verdict"]: c for c in told if "window=30 " in c["case"]}

        slower = pair(lost(1), lost(0, factor=3.0), 1)
        self.assertEqual([(v, c["base_processes"], c["new_processes"]) for v, c in slower.items()], [("slower", 9, 10)])
        wrong = pair(lost(1), lost(10, "fail"), 1)
        self.assertEqual(list(wrong), ["wrong"])
        self.assertIn("9 of 10 in BASE, 0 of 10 in NEW", wrong["wrong"]["reason"])
        both = pair(lost(2), lost(1), 0)
        self.assertEqual(sorted(both), ["ambiguous", "same"])
        self.assertIn("8 of 10 in BASE, 9 of 10 in NEW", both["ambiguous"]["reason"])
        self.assertEqual(list(pair(lost(8), lost(6), 0)), ["ambiguous"])
        self.assertEqual(list(pair(lost(8), lost(9), 1)), ["wrong"])
        self.assertEqual(list(pair(lost(8), lost(0), 0)), ["no base"])
        self.assertEqual(list(pair(lost(0), lost(9, "skip"), 1)), ["missing"])
        self.assertEqual(list(pair(lost(9, "skip"), lost(9, "skip"), 0)), ["ambiguous"])
        self.assertEqual(pair(lost(10), lost(10), 0), {})

    def test_rows_lost_in_some_processes(self):
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
            told = self.compare(
                self.make("base", 1, rows=rows, change=base),
                self.make("new", 2, new_runs, rows=rows, change=new),
                code=code,
            )
            return {c["verdict"]: c["reason"] for c in told["comparisons"] if "window=30 " in c["case"]}

        skipped = pair(None, lost(4, "skip"), 1)
        self.assertEqual(sorted(skipped), ["missing", "same"])
        self.assertIn("no room (processes that have it: 10 of 10 in BASE, 6 of 10 in NEW)", skipped["missing"])
        self.assertIn("1 of 10 in NEW", pair(None, lost(9), 1)["missing"])
        self.assertIn(
            "1 of 10 in NEW",
            pair(None, lost(9), 1, rows=[{"window": 30}])["missing"],
            "the run is there, if only by its environment",
        )
        self.assertIn(
            "a budget (timed: 10 of 10 processes in BASE, 1 of 10 in NEW)",
            pair(None, lost(9, "a budget"), 1)["missing"],
        )
        self.assertEqual(list(pair(None, lost(1, "verify only"), 0)), ["same"], "was to take no times")
        for base, new, runs in ((lost(4), lost(4), 10), (lost(4), lost(8), 20), (lost(4), None, 10)):
            self.assertNotIn("missing", pair(base, new, 0, runs))

    def test_runs_that_could_hold_a_row(self):
        """Those asked for other rows could not; one that resumes another is none of its own."""
        base = self.make("base", 1, rows=WINDOWS[1:4])
        new = self.make("new", 2, rows=WINDOWS[1:4])
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
            told = self.compare(base, new, code=code)
            self.assertEqual(told["counts"]["missing"], 3 if code else 0)
        other = [
            {**line, "run": "20270102T000000Z-00000001"} for line in rest if "window=30 " not in line.get("case", "")
        ]
        other[0]["argv"] = [*asked, "--variants", "another"]
        new.write_text("".join(json.dumps(line) + "\n" for line in lines + other))
        self.assertEqual(self.compare(base, new)["counts"]["missing"], 0)

    def test_rows_of_before_join(self):
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

        told = self.compare(*self.pair(spelt("true", "300"), spelt("yes", "3e+02"), rows=WINDOWS[:1]))
        self.assertEqual(
            self.only(told, "same")["case"], "ewm n=10 span=300 adjust=true dtype=f64 input=uniform seed=1"
        )

    def test_new_and_wrong(self):
        rows = WINDOWS + [{"window": 500}]
        new = self.make(
            "new",
            2,
            rows=rows,
            change=lambda row, k: not_passed(row, "fail", "bad") if row["params"]["window"] == 500 else row,
        )
        self.assertIn(
            "not in BASE, failed in NEW: bad",
            self.only(self.compare(self.make("base", 1), new, code=1), "wrong")["reason"],
        )

    def test_missing_and_new(self):
        base, new = self.make("base", 1), self.make("new", 2, rows=WINDOWS[1:] + [{"window": 500}])
        told = self.compare(base, new, code=1)
        self.assertIn("window=10 ", self.only(told, "missing")["case"])
        self.assertIn("window=500", self.only(told, "new")["case"])
        self.assertTrue(self.only(self.compare(base, new, "--allow-missing", "*window=10 *"), "missing")["allowed"])
        self.compare(base, new, "--allow-missing", "cuda_sh*,x")
        self.compare(base, new, "--allow-missing", "cpu_*", code=1)
        skipped = self.make(
            "new",
            2,
            change=lambda row, k: not_passed(row, "skip", "window too wide") if row["params"]["window"] == 30 else row,
        )
        self.assertIn("window too wide", self.only(self.compare(base, skipped, code=1), "missing")["reason"])

    def test_a_mode_missing(self):
        rows = [{"window": 30, "modes": ("cold", "hot")}]
        told = self.compare(self.make("base", 1, rows=rows), self.make("new", 2, rows=[{"window": 30}]), code=1)
        self.assertEqual(self.only(told, "missing")["mode"], "hot")
        told = self.compare(
            self.make("base", 1, rows=rows), self.make("new", 2, rows=[{"window": 30}]), "--modes", "cold"
        )
        self.assertEqual(len(told["comparisons"]), 1)

    def test_not_comparable(self):
        base = self.make("base", 1)
        for gpu, words in (
            ({"name": "NVIDIA H100"}, "device NVIDIA H200 and NVIDIA H100"),
            ({"driver": "999.1"}, "driver major"),
            ({"power_cap_watts": 500}, "power cap watts"),
            ({"clocks_sm_max": 1200}, "clocks sm max"),
            ({"mig": True}, "mig"),
            ({"sm_count": 16}, "sm count"),
        ):
            told = self.compare(base, self.make("new", 2, gpu=gpu), code=3)
            self.assertEqual(told["counts"]["not comparable"], 8)
            self.assertIn(words, told["comparisons"][0]["reason"])
        self.compare(
            base, self.make("new", 2, gpu={"driver": "580.200.01", "uuid": "GPU-another"})
        )  # the same kind of machine
        told = self.compare(base, self.make("new", 2, rows=[{**w, "mhz": 1200.0} for w in WINDOWS]), code=3)
        self.assertIn("locked differently", told["comparisons"][0]["reason"])

    def test_renamed(self):
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
        told = self.compare(*self.pair(new, old), code=1)
        self.assertEqual(
            {x["spec"]: x["verdict"] for x in told["comparisons"]},
            {"rolling/cuda_uno": "same", "rolling/cuda_due": "new", "rolling/cuda_two": "missing"},
        )
        self.assertTrue(
            all(
                (x["reason"] or "").startswith("renamed from rolling/cuda_one") == (x["spec"] == "rolling/cuda_uno")
                for x in told["comparisons"]
            )
        )

        times = types.SimpleNamespace(start=0.2, process=1.0, limit=1e3)
        one, other = (
            Comparison(case="x", spec=name, mode="complete", ratio=1.1, promising=True) for name in ("a", "b")
        )
        self.assertEqual(again.choose([one, other], times)[1][2], "a,b")
        other.reason = "renamed from c"
        self.assertEqual(
            again.choose([one, other], times)[1][2], "a", "a second stage needs a name that both builds know"
        )
        self.assertEqual(again.choose([other], times), ([], None))

    def test_throttled(self):
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

        told = self.compare(*self.pair(hot({3}), runs=11))
        self.assertEqual(told["counts"]["same"], 8)
        self.assertIn("throttled (heat or power brake) and left out: 0 process times of BASE, 1 of NEW", self.output)
        (row,) = (c for c in told["comparisons"] if any(c["throttled"]))
        self.assertEqual((row["base_processes"], row["new_processes"]), (11, 10))
        self.assertIn(
            "throttled in all processes of NEW",
            self.only(self.compare(*self.pair(hot(range(11)), runs=11), code=1), "not comparable")["reason"],
        )

    def test_unknown_circumstances(self):
        """Known on one side only: another machine, for all that is known. On neither: compared, and told of."""
        base, blank = self.make("base", 1), self.make("blank", 3, gpu={"power_cap_watts": None, "mig": None})
        self.assertEqual(self.compare(base, base)["warnings"], [])
        for pair, words in (
            ((base, blank), "power cap watts 700 and unknown"),
            ((blank, base), "power cap watts unknown and 700"),
        ):
            self.assertIn(words, self.compare(*pair, code=3)["comparisons"][0]["reason"])
        told = self.compare(blank, self.make("new", 2, gpu={"power_cap_watts": None, "mig": None}))
        self.assertEqual(told["counts"]["same"], 8)
        self.assertEqual(told["comparisons"][0]["unknown"], ["power cap watts", "mig"])
        self.assertEqual(
            told["warnings"],
            ["unknown on both sides and assumed equal: power cap watts (8 of 8 comparisons), mig (8 of 8 comparisons)"],
        )
        self.assertIn("note: unknown on both sides", self.output)

    def test_other_inputs(self):
        def seeded(row, number):
            if row["params"]["window"] == 30:
                row["seed"], row["case"] = 2, row["case"].replace("seed=1", "seed=2")
            return row

        told = self.compare(*self.pair(seeded), code=1)
        self.assertIn("seed 1 in BASE, input uniform, seed 2 in NEW", self.only(told, "not comparable")["reason"])
        self.assertEqual(len(told["comparisons"]), 8)

    def test_equal_code_cannot_regress(self):
        def coded(sass, threads, factor=1.0, host="c" * 16):
            def change(row, number):
                row["code"] = {"sass_hash": sass, "host_hash": host, "reason": None}
                row["launch"] = {"device": "cuda", "threads": threads} if threads else None
                return self.slowed(30, factor)(row, number)

            return change

        base = self.make("base", 1, change=coded("a" * 16, 128))
        told = self.compare(base, self.make("new", 2, change=coded("a" * 16, 128, 1.2)))
        self.assertEqual(told["counts"]["same"], 8)
        self.assertTrue(all("code did not change" in c["reason"] for c in told["comparisons"]))
        self.assertEqual(
            [c["case"].split()[3] for c in told["comparisons"] if "times differ by +" in c["reason"]], ["window=30"]
        )

        def with_memory(factor):
            def change(row, number):
                row["tunables"], row["spec"] = {"memory": "pool"}, row["spec"] + " memory=pool"
                return coded("a" * 16, 128, factor)(row, number)

            return change

        self.only(
            self.compare(*self.pair(with_memory(1.2), with_memory(1)), code=1), "slower"
        )  # what it allocates from is the harness's code
        base = self.make("base", 1, change=coded("a" * 16, 128))
        for other in (coded("b" * 16, 128, 1.2), coded("a" * 16, 256, 1.2), coded("a" * 16, 128, 1.2, "d" * 16)):
            self.only(self.compare(base, self.make("new", 2, change=other), code=1), "slower")
        self.only(self.compare(*self.pair(coded("a" * 16, None, 1.2), coded("a" * 16, None)), code=1), "slower")
        hosts = [{"window": 30, "modes": ("enqueue",)}]  # host time: equal kernels say nothing
        self.only(
            self.compare(*self.pair(coded("a" * 16, 128, 1.2), coded("a" * 16, 128), rows=hosts), code=1), "slower"
        )

    def test_order_means_nothing(self):
        base, new = self.pair(self.slowed(30, 1.05))
        told = self.compare(base, new, code=1)["comparisons"]
        for path in (base, new):
            self.rewrite(path, lambda lines: random.Random(4).sample(lines, len(lines)))
        again = self.compare(base, new, code=1)["comparisons"]
        self.assertEqual([(c["case"], c["verdict"]) for c in told], [(c["case"], c["verdict"]) for c in again])


if __name__ == "__main__":
    sys.exit(not unittest.main(exit=False, verbosity=2).result.wasSuccessful())
