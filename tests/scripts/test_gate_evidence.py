"""tests/gpu/gate_evidence.py and gate_steps.py: what they say of rows whose truth is known; that the page's table is what the committed rows give; and that
the steps run, with a program that is built already."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from compare_rows import Machine
from program import SOURCE
from test_ab import PROGRAM

try:
    import ruamel.yaml  # noqa: F401
    import scipy  # noqa: F401
except ImportError as error:
    print(error)
    sys.exit(77)

sys.path.append(str(SOURCE / "tests/gpu"))
import gate_evidence  # noqa: E402

SECTION = re.compile(r"<!-- rungs:begin gate_evidence -->\n(.*?)<!-- rungs:end gate_evidence -->", re.S)


class Evidence(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rungs_evidence_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def rows(self, processes, costs, sizes=(1000, 1030, 1050, 1100)):
        """costs: variant -> seconds of a number of elements."""
        machine, path = Machine(8), self.folder / "rows.jsonl"
        for _ in range(processes):
            environment = machine.environment()
            lines = [environment]
            for variant, cost in costs.items():
                for n in sizes:
                    row = machine.row(environment["run"], variant=variant, seconds=cost(n))
                    row["case"] = re.sub(r"\bn=\d+", f"n={n}", row["case"])
                    row["params"]["n"] = n
                    lines.append(row)
            gate_evidence.append(path, lines)
        return path

    def test_slow_downs(self):
        """One variant's time is that of its elements, the other's is always the same."""
        path = self.rows(20, {"rolling/cpu_a": lambda n: 1e-6 * n, "rolling/cpu_b": lambda n: 1e-3})
        text = gate_evidence.table(path, None, 4, 10)
        found = {line.split("|")[1].strip(" `"): line.split("|")[3:6] for line in text.splitlines() if line.startswith("| `")}
        self.assertEqual([cell.split()[1] for cell in found["rolling/cpu_a"]][1:], ["slower", "slower"], text)
        for cell, expected in zip(found["rolling/cpu_a"], (3, 5, 10)):
            self.assertAlmostEqual(float(cell.split()[0].strip("+%")), expected, delta=0.6)
        self.assertEqual({cell.split()[1] for cell in found["rolling/cpu_b"]}, {"same"}, text)
        self.assertRegex(text, r"\| 20 \| 4, random splits of these processes \| 2 \| 0 \| 8 \| 0 \| 0\.\d% \| \d\.\d%, \d\.\d% \|")

    def test_other_equal_rows(self):
        """Of the whole gate: each case is as large as it is. Too few processes are refused."""
        path = self.rows(20, {"rolling/cpu_a": lambda n: 1e-6 * n})
        equal = self.folder / "equal.jsonl"
        subprocess.run([sys.executable, gate_evidence.__file__, "keep", equal, path], check=True)
        self.assertIn("| 20 | 2, random splits of these processes | 4 |", gate_evidence.table(path, equal, 2, 10))
        self.assertRaises(SystemExit, gate_evidence.table, path, equal, 2, 11)

    def test_take(self):
        """Whole processes, of each row the quartiles; a second time it goes on."""
        program, out = self.folder / "program", self.folder / "out.jsonl"
        program.write_text(PROGRAM.format(python=sys.executable, scripts=str(SOURCE / "tests/scripts"), diary=str(self.folder / "diary"), name="take", factor=1.0, fails=False, help=""))
        program.chmod(0o755)
        for processes in (2, 3):
            subprocess.run([sys.executable, gate_evidence.__file__, "take", program, out, "--processes", str(processes)], check=True, stdout=subprocess.DEVNULL)
        lines = gate_evidence.lines_of(out)
        self.assertEqual([line["kind"] for line in lines].count("environment"), 3)
        self.assertEqual({len(line["timing"]["cold"]["samples"]) for line in lines if line["kind"] == "row"}, {3})
        self.assertFalse(any("code" in line for line in lines))

    def test_the_page_is_what_the_rows_give(self):
        told = SECTION.search((SOURCE / "docs/COMPARISON.md").read_text()).group(1).strip()
        if told == "Not measured yet.":
            self.assertEqual(list((SOURCE / "results/gate").glob("*.jsonl")), [], "rows, but no table: gate_evidence.py table ... --update docs/COMPARISON.md")
            return
        names = [SOURCE / name for name in re.findall(r"`(results/\S+)`", told.splitlines()[0])]
        repetitions, suites = int(re.search(r"(\d+) processes a side", told).group(1)), int(re.search(r"^\| \d+ \| (\d+)", told, re.M).group(1))
        self.assertEqual(told, gate_evidence.table(names[-1], names[0] if len(names) > 1 else None, suites, repetitions).strip())

    def test_steps(self):
        """All steps of the workflow's job, with programs of known speed; and a slow-down ends them with 1."""
        for name, factor in (("same", 1.0), ("slow", "1.2 if out.name == 'new.jsonl' else 1")):
            rungs, program = self.folder / name, self.folder / f"{name}-program"
            program.write_text(PROGRAM.format(python=sys.executable, scripts=str(SOURCE / "tests/scripts"), diary=str(self.folder / "diary"), name=name, factor=factor,
                                              fails=False, help="--out --no-ceilings"))
            program.chmod(0o755)
            rungs.write_text(f"#!/bin/sh\nif [ \"$1\" = ab ]; then shift 3; exec {os.environ['RUNGS']} ab {program} {program} \"$@\"; fi\nexec {os.environ['RUNGS']} \"$@\"\n")
            rungs.chmod(0o755)
            done = subprocess.run([sys.executable, SOURCE / "tests/gpu/gate_steps.py", self.folder / f"out-{name}", "--program", rungs, "REPETITIONS=9", "SECOND_STAGE=0s",
                                   f"LOCK={self.folder}/lock", "CLOCKS=keep"], capture_output=True, text=True)
            self.assertEqual(done.returncode, name == "slow", done.stdout + done.stderr)
            text = (self.folder / f"out-{name}/steps.txt").read_text()
            self.assertEqual(re.findall(r"^== (.*): exit code (\d)", text, re.M), [("What this machine can do", "0"), ("Idle, and clocks locked where this runner may", "0"),
                                                                                 ("Compare", "01"[name == "slow"]), ("Clocks as they were", "0"), ("Summary", "0")])
            self.assertEqual(len(gate_evidence.lines_of(self.folder / f"out-{name}/base.jsonl")), 9 * 6)
        done = subprocess.run([sys.executable, SOURCE / "tests/gpu/gate_steps.py", self.folder / "out", "REPETITION=9"], capture_output=True, text=True)
        self.assertEqual((done.returncode, "there are: SCENARIOS" in done.stderr), (2, True))


if __name__ == "__main__":
    unittest.main(verbosity=2)
