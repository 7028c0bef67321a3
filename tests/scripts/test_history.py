"""`rungs report --history` on histories whose changes are known, and on some that have none: what is marked, in which order, for which machine."""
import itertools
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

import numpy
from compare_rows import Machine
from program import SOURCE, call

try:
    import ruptures  # noqa: F401
except ImportError as error:
    print(error)
    sys.exit(77)

from report_page import drawn

from analysis.history import __main__ as history
from analysis.history import changes, shared_steps
from analysis.history.series import Point, Series


def commit(number):
    return f"{(number + 1) * 2654435761 % 2**32:08x}" * 5


class History(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rungs_history_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "results").mkdir()

    def runs(self, count, level, seed=1, name="runs", windows=(10,), commit=commit, date=lambda i: f"2026-{3 + i // 28:02d}-{1 + i % 28:02d}T00:00:00Z",
             mhz=lambda i: 1980.0, **gpu):
        """One run for each commit; level(i, window): its time as a factor."""
        machine, lines = Machine(seed), []
        for i in range(count):
            environment = machine.environment(**gpu)
            environment.update(commit=commit(i), dirty=False, date=date(i))
            lines += [environment, *(machine.row(environment["run"], window=w, seconds=1e-3 * level(i, w), mhz=mhz(i)) for w in windows)]
        (self.folder / f"results/{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def report(self, code=0):
        """By the program; in this process where the page alone is looked at, for starting it takes longer than a page."""
        out = self.folder / "HISTORY.md"
        done = call("report", "--history", self.folder / "results", "--out", out, "--figures", self.folder / "figures")
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.text = out.read_text() if code == 0 else done.stderr
        return self.text

    def page(self):
        out = self.folder / "HISTORY.md"
        self.assertEqual(history.main([str(self.folder / "results"), "--out", str(out), "--figures", str(self.folder / "figures")]), 0)
        self.text = out.read_text()
        return self.text

    def marked(self):
        """(percent, commit, commit before, window, machine) of the table."""
        cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in self.text.splitlines() if line.startswith("| **")]
        return [(float(c[0].strip("*%")), c[1], c[2], int(re.search(r"window=(\d+)", c[8]).group(1)), c[9]) for c in cells if len(c) > 4]

    def test_known_changes(self):
        """Three cases: one that slows down, one that gets faster and then slower, one that stays as it is."""
        def level(i, window):
            return {10: 1.07 if i >= 11 else 1, 20: 1 if i < 6 else 0.8 if i < 19 else 0.9, 30: 1}[window]
        self.runs(30, level, windows=(10, 20, 30))
        self.report()
        found = sorted(self.marked(), key=lambda m: (m[3], m[1]))
        expected = sorted([(7.0, 11, 10), (-20.0, 6, 20), (12.5, 19, 20)], key=lambda m: (m[2], commit(m[1])[:7]))
        self.assertEqual(len(found), 3, self.text)
        for (percent, at, before, window, machine), (true_percent, index, true_window) in zip(found, expected):
            self.assertAlmostEqual(percent, true_percent, delta=1.0)
            self.assertEqual((at, before, window), (commit(index)[:7], commit(index - 1)[:7], true_window))
            self.assertEqual(machine, "NVIDIA H200, driver 580, 700 W")
        figures = [self.folder / link for link in re.findall(r"!\[[^\]]*\]\((.*?)\)", self.text)]
        self.assertEqual(len(figures), 3)
        before = [path.read_bytes() for path in figures]
        with drawn() as pictures:
            history.main([str(self.folder / "results"), "--out", str(self.folder / "HISTORY.md"), "--figures", str(self.folder / "figures")])
        self.assertEqual(sorted(pictures), sorted(path.stem for path in figures), "the figures that are looked at")
        self.assertEqual([path.read_bytes() for path in figures], before)
        self.assertTrue(all(path.suffix == ".svg" and path.stat().st_size > 5000 for path in figures))

    def test_nothing_changed(self):
        self.runs(40, lambda i, w: 1, windows=range(10, 90, 10))
        self.assertIn("No change was found in a single variant.", self.page())
        self.assertEqual(self.marked(), [])

    def test_a_bad_day_and_a_small_change_are_not_marked(self):
        """Two commits measured on a busy machine; a change of 2%; a change that only the last commit shows."""
        self.runs(30, lambda i, w: {10: 1.4 if i in (9, 10) else 1, 20: 1.02 if i >= 15 else 1, 30: 1.3 if i == 29 else 1}[w], windows=(10, 20, 30))
        self.page()
        self.assertEqual(self.marked(), [])

    def test_noise(self):
        """changes.find alone, over many histories: false marks in at most 1%, changes of 5% found where they are in at least 99%."""
        rng = random.Random(6)

        def history(count, spread, step=1.0, at=0):
            return [(step if i >= at else 1.0) * rng.lognormvariate(0, spread) for i in range(count)]
        for count, spread in itertools.product((8, 20, 50), (0.003, 0.01)):
            found = [changes.find(history(count, spread)) for _ in range(200)]
            self.assertLessEqual(sum(map(bool, found)), 2, (count, spread))
        for count, step in itertools.product((20, 50), (1.05, 1 / 1.05)):
            right = 0
            for _ in range(200):
                at = rng.randrange(4, count - 4)
                found = changes.find(history(count, 0.006, step, at))
                right += len(found) == 1 and abs(found[0] - at) <= 1
            self.assertGreaterEqual(right, 198, (count, step))

    def test_similar_days_and_machine_steps(self):
        """No mark in 95% of series whose commits resemble the one before (AR(1), 0.7); nor where all series step together, which is told of as
        such, while the one that steps alone is found."""
        rng = numpy.random.default_rng(5)
        for count, spread in itertools.product((20, 50, 200), (0.01, 0.03)):
            marked = 0
            for _ in range(60):
                noise = rng.standard_normal(count)
                for i in range(1, count):
                    noise[i] = 0.7 * noise[i - 1] + math.sqrt(1 - 0.49) * noise[i]
                marked += bool(changes.find(numpy.exp(spread * noise)))
            self.assertLessEqual(marked, 3, (count, spread))
        order = [str(i) for i in range(40)]
        day = 0.02 * rng.standard_normal(40) + numpy.where(numpy.arange(40) >= 25, 0.15, 0)
        series = [Series(("one machine",), {"case": str(k), "spec": ""}, "cold", [
            Point(c, math.exp(k + day[i] + 0.005 * rng.standard_normal() + 0.06 * (k == 7 and i >= 12)), 1, 1, None, 1) for i, c in enumerate(order) if k or i > 20])
            for k in range(30)]
        (told,) = shared_steps.find_changes(series, order)
        self.assertEqual((told.bounds, [one.bounds for one in series]), ([25], [[12] if k == 7 else [] for k in range(30)]))

    def test_a_machine_that_steps(self):
        """The page says so, once, and marks no variant."""
        self.runs(24, lambda i, w: 1.2 if i >= 10 else 1, windows=range(10, 130, 10))
        text = self.page()
        self.assertEqual(self.marked(), [])
        self.assertRegex(text, rf"\| \*\*\+\d+\.\d%\*\* \| {commit(10)[:7]} \| {commit(9)[:7]} \| NVIDIA H200")
        self.assertIn("the machine, its settings, or what all variants share", text)

    def test_page_first_and_changed_cases_first(self):
        """A figure that cannot be drawn leaves the page; of many cases those with a change are drawn, the others up to a number."""
        self.runs(8, lambda i, w: 1.3 if w == 70 and i >= 4 else 1, windows=range(10, 90, 10))
        drawn_first = []
        with unittest.mock.patch.object(history, "MOST_FIGURES", 2), unittest.mock.patch.object(
                history.figures_history, "draw", lambda h, group, out: drawn_first.append(group[0].row["params"]["window"]) or 1 / 0):
            self.assertRaises(ZeroDivisionError, history.main, [str(self.folder / "results"), "--out", str(self.folder / "HISTORY.md"), "--figures", str(self.folder / "f")])
        self.text = (self.folder / "HISTORY.md").read_text()
        self.assertEqual((drawn_first, [m[3] for m in self.marked()]), ([70], [70]))
        self.assertIn("6 cases without a change not drawn", self.text)

    def test_many_rows(self):
        """Memory is that of medians, not of samples: 40 times as many rows as are read at once. With --full as many as a library has."""
        rows, commits = (5000, 200) if "RUNGS_TEST_FULL" in os.environ else (100, 40)
        machine_rows = Machine(3)
        path = self.folder / "results/many.jsonl"
        template = json.dumps(machine_rows.row("RUN", window=10))
        with open(path, "w") as file:
            for k in range(commits):
                environment = machine_rows.environment()
                environment.update(commit=commit(k), dirty=False, date=f"2026-{1 + k // 28:02d}-{1 + k % 28:02d}T00:00:00Z")
                file.write(json.dumps(environment) + "\n")
                text = template.replace('"RUN"', json.dumps(environment["run"]))
                for i in range(rows):
                    file.write(text.replace("window=10 ", f"window={i + 10} ").replace('"window": 10', f'"window": {i + 10}') + "\n")
        code = ("import resource, sys; sys.path.insert(0, sys.argv[1]); from analysis.history import shared_steps, series; h = series.History([sys.argv[2]]); "
                "shared_steps.find_changes(h.series, h.order); print(len(h.series), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)")
        begin = time.monotonic()
        done = subprocess.run([sys.executable, "-c", code, SOURCE, self.folder / "results"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        count, kilobytes = map(int, done.stdout.split())
        print(f"{rows} rows x {commits} commits: {kilobytes / 2**20:.2f} GB, {time.monotonic() - begin:.0f} s, file {path.stat().st_size / 1e9:.2f} GB")
        self.assertEqual(count, rows)
        self.assertLess(kilobytes, 2**21 if rows > 1000 else 2**18)

    def test_machines_are_kept_apart(self):
        """Another driver branch is another series; a host name or a minor driver is none of its business."""
        self.runs(8, lambda i, w: 1, name="a", driver="580.95.05")
        self.runs(8, lambda i, w: 1.5, name="b", seed=2, driver="590.10", commit=lambda i: commit(8 + i))
        self.page()
        self.assertEqual(self.marked(), [])
        self.assertEqual(re.findall(r"^## (.*)", self.text, re.M), ["NVIDIA H200, driver 580, 700 W", "NVIDIA H200, driver 590, 700 W"])
        self.assertNotIn(os.uname().nodename, self.text)
        self.runs(8, lambda i, w: 1.5, name="b", seed=2, driver="580.126.09", commit=lambda i: commit(8 + i), date=lambda i: f"2026-05-{i + 1:02d}T00:00:00Z")
        self.page()
        self.assertEqual([(m[1], m[4]) for m in self.marked()], [(commit(8)[:7], "NVIDIA H200, driver 580, 700 W")])

    def test_parts_of_a_gpu_and_other_limits_are_kept_apart(self):
        """MIG, the size of its part, and what the clocks may reach at most: never one series with the whole GPU's."""
        for gpu, text in (({"mig": True, "sm_count": 16}, "NVIDIA H200, driver 580, 700 W, MIG, 16 SMs"), ({"clocks_sm_max": 1200}, "NVIDIA H200, driver 580, 700 W"),
                          ({"power_cap_watts": None, "mig": None}, "NVIDIA H200, driver 580 (unknown: power cap watts, mig)")):
            self.runs(8, lambda i, w: 1, name="a")
            self.runs(8, lambda i, w: 1.5, name="b", seed=2, commit=lambda i: commit(8 + i), date=lambda i: f"2026-05-{i + 1:02d}T00:00:00Z", **gpu)
            self.page()
            self.assertEqual(self.marked(), [], gpu)
            self.assertEqual(sorted(re.findall(r"^## (.*)", self.text, re.M)), sorted(["NVIDIA H200, driver 580, 700 W", text]))

    def test_locked_clocks_are_kept_apart(self):
        """No environment tells a lock; the clocks during the samples do. One that only sags is no other machine."""
        self.runs(8, lambda i, w: 1, name="a", mhz=lambda i: 1980.0 - 10 * i)
        self.runs(8, lambda i, w: 1.65, name="b", seed=2, mhz=lambda i: 1200.0, commit=lambda i: commit(8 + i), date=lambda i: f"2026-05-{i + 1:02d}T00:00:00Z")
        self.page()
        self.assertEqual(self.marked(), [])
        self.assertEqual(sorted(re.findall(r"^## .*SM clock about (\d+) MHz", self.text, re.M)), ["1200", "1940"])

    def test_processes_of_a_commit_are_one_point(self):
        self.runs(16, lambda i, w: 1 + 0.1 * (i % 2), commit=lambda i: commit(i // 2))
        self.assertIn("over 8 commits", self.page())
        self.assertEqual(self.marked(), [])

    def test_a_clock_is_named(self):
        self.runs(20, lambda i, w: 1 if i < 10 else 1.1, mhz=lambda i: 1980.0 if i < 10 else 1800.0)
        self.page()
        self.assertEqual(len(self.marked()), 1)
        self.assertIn("| -9.1% |", self.text)

    def test_order_is_that_of_the_commits(self):
        """An old commit measured late stands where it belongs, if git knows it."""
        done = subprocess.run(["git", "-C", SOURCE, "rev-list", "--first-parent", "--max-count=400", "HEAD"], capture_output=True, text=True)
        known = done.stdout.split()[::-1][::20][:12]
        if len(known) < 8:
            self.skipTest("no git history here")
        measured = known[:]
        random.Random(2).shuffle(measured)
        at = {c: k for k, c in enumerate(known)}
        self.runs(len(known), lambda i, w: 1.2 if at[measured[i]] >= 5 else 1, commit=lambda i: measured[i])
        self.page()
        self.assertIn(f"from {known[0][:7]} to {known[-1][:7]}", self.text)
        self.assertEqual([(m[1], m[2]) for m in self.marked()], [(known[5][:7], known[4][:7])])

    def test_nothing_to_draw(self):
        self.assertIn("no rows", self.report(code=3))
        self.runs(3, lambda i, w: 1, commit=lambda i: commit(0))
        self.assertIn("no case was measured at two commits", self.report(code=3))
        (self.folder / "results/bad.jsonl").write_text("{oops\n")
        self.assertIn("bad.jsonl:1:", self.report(code=2))
        self.assertFalse((self.folder / "HISTORY.md").exists())


if __name__ == "__main__":
    sys.exit(not unittest.main(exit=False, verbosity=2).result.wasSuccessful())
