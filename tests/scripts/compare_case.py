"""A test case of `rungs compare`: makes files of rows whose truth is known, and compares them."""
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

from compare_rows import Machine
from program import SOURCE, call

try:
    import scipy  # noqa: F401

    sys.path.append(str(SOURCE / "compare"))
    import compare as comparing
except ImportError as error:
    print(error)
    sys.exit(77)

WINDOWS = [{"window": 10 * k} for k in range(1, 9)]


class CompareCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rungs_compare_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def make(self, name, seed, runs=10, rows=WINDOWS, change=None, gpu=None, **machine):
        return Machine(seed, **machine).file(self.folder / f"{name}.jsonl", runs, rows, change, **(gpu or {}))

    def compare(self, base, new, *words, code=0, program=False):
        """What the program calls, without the seconds that it takes to start; or the program."""
        told = self.folder / "told.json"
        told.unlink(missing_ok=True)
        words = [str(word) for word in (base, new, "--json", told, *words)]
        if program:
            done = call("compare", *words)
            returned, self.output, errors = done.returncode, done.stdout, done.stderr
        else:
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                try:
                    returned = comparing.main(words)
                except SystemExit as stopped:
                    returned = stopped.code
            self.output, errors = out.getvalue(), err.getvalue()
        self.assertEqual(returned, code, self.output + errors)
        self.assertNotIn("Traceback", errors)
        return json.loads(told.read_text()) if told.exists() else errors

    def only(self, told, verdict):
        found = [c for c in told["comparisons"] if c["verdict"] == verdict]
        self.assertEqual(len(found), 1, (verdict, told["counts"]))
        return found[0]

    @staticmethod
    def slowed(window, factor):
        def change(row, number):
            if row["params"]["window"] == window:
                for timed in row["timing"].values():
                    timed["samples"] = [factor * x for x in timed["samples"]]
            return row
        return change
