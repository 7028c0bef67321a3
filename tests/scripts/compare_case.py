"""Makes files of rows whose truth is known, and compares them."""

import contextlib
import io
import json

import pytest
from compare_rows import Machine
from program import call

pytest.importorskip("scipy")
from analysis.compare import __main__ as comparing  # noqa: E402
from analysis.compare import calibrate  # noqa: E402

WINDOWS = [{"window": 10 * k} for k in range(1, 9)]


class CompareCase:
    def __init__(self, folder):
        self.folder = folder

    def make(self, name, seed, runs=10, rows=WINDOWS, change=None, gpu=None, **machine):
        return Machine(seed, **machine).file(self.folder / f"{name}.jsonl", runs, rows, change, **(gpu or {}))

    def rewrite(self, path, change):
        """A file of rows with its lines as change(lines) gives them."""
        lines = change([json.loads(line) for line in path.read_text().splitlines()])
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def start(self, main, *words):
        """What the program calls, without the seconds that it takes to start: (exit code, output, errors)."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main([str(word) for word in words])
            except SystemExit as stopped:
                code = stopped.code
        return code, out.getvalue(), err.getvalue()

    def noise_of(self, rows, name="noise", code=0):
        """The noise file that these rows make."""
        path = self.folder / f"{name}.json"
        returned, _, errors = self.start(calibrate.main, f"--rows={rows}", f"--out={path}", "--progress=2")
        assert returned == code, errors
        return path

    def compare(self, base, new, *words, code=0, program=False):
        told = self.folder / "told.json"
        told.unlink(missing_ok=True)
        words = [str(word) for word in (base, new, "--json", told, *words)]
        if program:
            done = call("compare", *words)
            returned, self.output, errors = done.returncode, done.stdout, done.stderr
        else:
            returned, self.output, errors = self.start(comparing.main, *words)
        if code is not None:
            assert returned == code, self.output + errors
        assert "Traceback" not in errors
        return json.loads(told.read_text()) if told.exists() else errors

    def pair(self, new=None, base=None, **how):
        """BASE and NEW of one size, each with its change."""
        return self.make("base", 1, change=base, **how), self.make("new", 2, change=new, **how)

    def only(self, told, verdict):
        found = [c for c in told["comparisons"] if c["verdict"] == verdict]
        assert len(found) == 1, (verdict, told["counts"])
        return found[0]

    @staticmethod
    def slowed(window, factor):
        def change(row, number):
            if row["params"]["window"] == window:
                for timed in row["timing"].values():
                    timed["samples"] = [factor * x for x in timed["samples"]]
            return row

        return change
