"""What the real program records of CPUs and threads, and what `compare` makes of rows that differ in them; files that it refuses; a Python that cannot start."""

import json
import os
import shutil
import subprocess
import unittest

from compare_case import CompareCase
from program import RELEASE, RUNGS, SOURCE, call, expect_error, rows_of
from real_order import stamps

CASE = ("ewm n=3e5 span=30 dtype=f64 input=normal", "--variants", "cpu_*", "--quick", "--no-ceilings", "--out")
CPUS = sorted(os.sched_getaffinity(0))


@unittest.skipUnless(RELEASE, "only release builds take times")
class Facts(CompareCase):
    def measured(self, name, *before, **variables):
        path = self.folder / f"{name}.jsonl"
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("OMP_", "GOMP_"))}
        done = subprocess.run(
            [*before, RUNGS, "run", *CASE, path], capture_output=True, text=True, env={**environment, **variables}
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def threads(self, path):
        return {row["variant"].split("/")[1]: row["threads"] for row in rows_of(path)}

    def test_cpus_and_threads(self):
        free = self.measured("free")
        (environment,) = rows_of(free, "environment")
        listed = [
            cpu
            for part in environment["cpu"]["cpus"].split(",")
            for first, _, last in [part.partition("-")]
            for cpu in range(int(first), int(last or first) + 1)
        ]
        self.assertEqual(listed, CPUS)
        self.assertEqual(self.threads(free), {"cpu_sequential": 1, "cpu_best": len(CPUS)})
        one = self.measured("one", OMP_NUM_THREADS="1")
        self.assertEqual(self.threads(one), {"cpu_sequential": 1, "cpu_best": 1})
        told, output = self.compare(free, one, code=3), self.output
        self.assertEqual({c["verdict"] for c in told["comparisons"]}, {"not comparable"})
        self.assertIn("thread variables none and OMP_NUM_THREADS=1", output)
        ids = {environment["id"], rows_of(one, "environment")[0]["id"]}
        if len(CPUS) > 1 and shutil.which("taskset"):
            pinned = self.measured("pinned", "taskset", "-c", str(CPUS[0]))
            told, output = self.compare(pinned, free, code=3), self.output
            self.assertEqual({c["verdict"] for c in told["comparisons"]}, {"not comparable"})
            self.assertIn(f"CPUs {CPUS[0]} and {environment['cpu']['cpus']}", output)
            ids.add(rows_of(pinned, "environment")[0]["id"])
            self.assertEqual(len(ids), 3)

    def test_threads_alone_and_an_older_program(self):
        """Of a program that is told to use fewer in a way that nobody records. What an older program did not record is said, and its rows are compared."""
        free = self.measured("free")
        other = self.folder / "other.jsonl"
        lines = [json.loads(line) for line in free.read_text().splitlines()]
        for line in lines:
            if line.get("threads") == len(CPUS):
                line["threads"] += 1
        other.write_text("".join(json.dumps(line) + "\n" for line in lines))
        told = self.compare(free, other, code=1)
        self.assertEqual(
            {
                c["spec"].split("/")[1].split()[0]: c["reason"]
                for c in told["comparisons"]
                if c["verdict"] == "not comparable"
            },
            {"cpu_best": f"threads used {len(CPUS)} and {len(CPUS) + 1}"}
            | ({"cpu_sequential": "threads used 1 and 2"} if len(CPUS) == 1 else {}),
        )

        old = self.folder / "old.jsonl"
        lines = [json.loads(line) for line in free.read_text().splitlines()]
        for line in lines:
            line.pop("threads", None)
            for key in ("cpus", "cpu_quota"):
                line.get("cpu", {}).pop(key, None)
        old.write_text("".join(json.dumps(line) + "\n" for line in lines))
        told, output = self.compare(old, free, code=0), self.output
        self.assertNotIn("not comparable", {c["verdict"] for c in told["comparisons"]})
        self.assertIn("not recorded by an older program and assumed equal: CPUs of BASE", output)
        self.assertIn("threads used of BASE", output)

    def test_first_line(self):
        """A first, then B is said before anything else, also in the page for a pull request."""
        first, second = self.measured("first"), self.measured("second")
        for path, date in ((first, "2026-01-01T10:00:00Z"), (second, "2026-01-01T10:05:00Z")):
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            lines[0]["date"] = date
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        self.compare(first, second, "--markdown", self.folder / "page.md", code=None)
        expected = "not measured in turns, but BASE first (2026-01-01T10:00:00Z to 2026-01-01T10:00:00Z), then NEW (2026-01-01T10:05:00Z"
        self.assertTrue(self.output.startswith(expected), self.output)
        self.assertTrue((self.folder / "page.md").read_text().startswith(expected))
        self.compare(second, first, code=None)
        self.assertTrue(self.output.startswith("not measured in turns, but NEW first"))
        self.assertTrue(call("compare", first, first).stdout.startswith("not measured in turns: "))


class Refused(CompareCase):
    ROWS = SOURCE / "tests/golden/rows.jsonl"

    def test_times_that_are_none(self):
        """By file and line, in every verb that reads rows."""
        lines = self.ROWS.read_text().splitlines()
        at = next(k for k, line in enumerate(lines) if '"kind": "row"' in line and json.loads(line)["timing"])
        for value in (0, -0.5, float("nan")):
            row = json.loads(lines[at])
            next(iter(filter(None, row["timing"].values())))["median"] = value
            path = self.folder / "rows.jsonl"
            path.write_text("\n".join([*lines[:at], json.dumps(row), *lines[at + 1 :]]) + "\n")
            verbs = ("compare", path, path), ("export", "csv", path), ("report", path, "--out", self.folder / "page.md")
            for verb in verbs if value == 0 else verbs[:1]:
                done = call(*verb)
                expect_error(done, 2, f"rows.jsonl:{at + 1}:")
                self.assertNotIn("Traceback", done.stdout + done.stderr)

    def test_both_sides_in_one_file(self):
        """BASE and NEW of one `rungs ab` are no repetitions of one another, whichever file they are joined with."""
        base, new = self.pair()
        for side, path in (("base", base), ("new", new)):
            left = iter(stamps(10, 7)[side])
            self.rewrite(
                path,
                lambda lines: [{**line, "ab": next(left)} if line["kind"] == "environment" else line for line in lines],
            )
        both = self.folder / "both.jsonl"
        both.write_text(base.read_text() + new.read_text())
        for files in ((both, new), (base, both), (both, both)):
            expect_error(call("compare", *files), 2, "both.jsonl: rows of both sides of one rungs ab")

    def test_python_that_cannot_start(self):
        broken = {**os.environ, "PYTHONHOME": "/nonexistent"}
        for verb in (
            ("compare", self.ROWS, self.ROWS),
            ("export", "csv", self.ROWS),
            ("report", self.ROWS, "--out", self.folder / "page.md"),
            ("report", "--history", self.ROWS.parent, "--out", self.folder / "history.md"),
            ("plot", "cache", self.ROWS),
            ("new", self.folder / "project"),
        ):
            done = call(*verb, env=broken)
            self.assertEqual(done.returncode, 4, f"{verb[0]}: {done.stdout}{done.stderr}")
        done = call("compare", self.ROWS, self.ROWS, env={**os.environ, "RUNGS_PYTHON": "/bin/false"})
        self.assertEqual(
            (done.returncode, "/bin/false ended with exit code 1 and printed nothing" in done.stderr),
            (4, True),
            done.stderr,
        )


if __name__ == "__main__":
    unittest.main(verbosity=2)
