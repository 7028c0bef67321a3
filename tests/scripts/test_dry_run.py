"""rungs run --dry-run: the rows that a run then makes, their bytes and an estimate; no file, no call of a variant."""

import json
import os
import pathlib
import sys
import tempfile
import unittest

from program import MUTANTS, RUNGS, call, rows_of

CASE = "double n=1000 dtype=f64 input=uniform seed=1"


def listed(*words, program=RUNGS):
    done = call("run", *words, "--dry-run", "--json", program=program)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class DryRun(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rungs_dry_run_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_the_rows_of_the_run(self):
        """The same cases, specs, backends and skips with the same reasons."""
        words = ("rolling n=100 window=7", "double n=1000", "--variants", "cpu_*", "--verify-only", "--no-ceilings")
        call("run", *words, "--out", self.folder / "rows.jsonl")

        def made(row, skip):
            return row["case"], row["spec"], row["backend"], skip

        expected = sorted(
            made(row, row["reason"] if row["verdict"] == "skip" else None)
            for row in rows_of(self.folder / "rows.jsonl")
        )
        found = listed(*words)
        self.assertEqual(sorted((made(row, row["skip"]) for row in found), key=str), sorted(expected, key=str))
        self.assertTrue(any(row["skip"] for row in found) and not any(row["timed"] for row in found))

    def test_bytes_and_estimate(self):
        [row] = listed(CASE, "--variants", "cpu_loop")
        self.assertEqual(
            (row["case"], row["input_bytes"], row["output_bytes"], row["processes"]), (CASE, 8000, 8000, 1)
        )
        [large] = listed(CASE.replace("n=1000", "n=1000000000"), "--variants", "cpu_loop")
        self.assertEqual(large["input_bytes"], 8000000000)
        self.assertGreater(large["seconds"], row["seconds"])
        self.assertGreater(row["seconds"], 0)
        text = call("run", CASE, "--variants", "cpu_loop", "--dry-run").stdout
        for word in (
            f"{CASE}  (inputs 8 kB, outputs 8 kB)",
            "double/cpu_loop",
            "1 cases, 1 rows",
            "on an H200 and its host",
        ):
            self.assertIn(word, text)

    def test_scenarios(self):
        """With their names, as many rows as `list` tells of them."""
        scenarios = {
            s["name"]: s["rows"]
            for s in json.loads(call("list", "scenarios", "--json").stdout)
            if s["name"].startswith("smoke/")
        }
        found = [row["scenario"] for row in listed("smoke")]
        self.assertEqual({name: found.count(name) for name in scenarios}, scenarios)
        self.assertEqual(len(found), sum(scenarios.values()))

    def test_nothing_is_written_or_called(self):
        out, timeline = self.folder / "rows.jsonl", self.folder / "trace.json"
        done = call("run", CASE, "--dry-run", "--out", out, "--timeline", timeline, cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr, os.listdir(self.folder)), (0, "", []))
        if MUTANTS.exists():
            [row] = listed(CASE, "--variants", "cpu_hangs", program=MUTANTS)
            self.assertIsNone(row["skip"])

    def test_usage(self):
        for words, code, told in (
            ((CASE, "--json"), 2, "--json needs --dry-run"),
            ((CASE, "--dry-run", "--resume", "--out", "x"), 2, "leave out --resume"),
            (("nowhere", "--dry-run"), 2, "nowhere"),
        ):
            done = call("run", *words)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(told, done.stderr)


if __name__ == "__main__":
    sys.exit(not unittest.main(exit=False, verbosity=2).result.wasSuccessful())
