"""`rungs ab` and `rungs calibrate`: order, number and circumstances of the processes, with programs whose speed is known; and, with the
program itself, that real rows get through. Nothing here depends on how fast this machine is."""

import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

from program import BUILD, RELEASE, SOURCE, call, rows_of

try:
    import scipy  # noqa: F401
except ImportError as error:
    print(error)
    sys.exit(77)

GPU = subprocess.run(["sh", "-c", "nvidia-smi -L"], capture_output=True).returncode == 0

# A program that takes `run SCENARIO... --out FILE` and appends rows as rungs does; it keeps a diary of its command lines.
PROGRAM = """#!{python} -SE
import json, os, pathlib, random, sys
sys.path.insert(0, {scripts!r})
from compare_rows import Machine
words = sys.argv[1:]
if words == ["run", "--help"]:
    sys.exit(print({help!r}))
diary = pathlib.Path({diary!r})
lines = diary.read_text().splitlines() if diary.exists() else []
diary.write_text("\\n".join([*lines, json.dumps([{name!r}, *words])]) + "\\n")
if {fails}:
    print("a bad day")
    sys.exit(4)
out = pathlib.Path(words[words.index("--out") + 1])
machine = Machine(len(lines))
environment = machine.environment()
environment["variables"] = {{}}
rows = [machine.row(environment["run"], window=w, seconds=1e-3 * ({factor} if w == 30 else 1)) for w in range(10, 60, 10)]
with open(out, "a") as file:
    file.write("".join(json.dumps(line) + "\\n" for line in [environment, *rows]))
"""


class WithPrograms(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rungs_ab_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def program(self, name, factor=1.0, fails=False, help="--out --no-ceilings"):
        path = self.folder / name
        path.write_text(
            PROGRAM.format(
                python=sys.executable,
                scripts=str(SOURCE / "tests/scripts"),
                diary=str(self.folder / "diary"),
                name=name,
                factor=factor,
                fails=fails,
                help=help,
            )
        )
        path.chmod(0o755)
        return path

    def choosy(self, name, *refused, help="--out --skip-unknown"):
        """A program that does not know some words, and leaves them out as rungs does."""
        path = self.program(name, help=help)
        path.write_text(
            path.read_text().replace(
                "out = pathlib",
                f"""for word in filter({list(refused)!r}.__contains__, words):
    print(f"left out: {{word}}\\n    no op in {{word}}")
    if "--skip-unknown" not in words or all(w in {list(refused)!r} for w in words[1:words.index("--out")]):
        sys.exit(print("supports none of the requested cases") or 2)
out = pathlib""",
                1,
            )
        )
        return path

    def diary(self):
        return [json.loads(line) for line in (self.folder / "diary").read_text().splitlines()]

    def ab(self, *words, code):
        stage = () if "--second-stage" in words else ("--second-stage", "0s")
        done = call("ab", *words, *stage, "--out", self.folder / "out")
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done


class Programs(WithPrograms):
    def test_slower_build_is_found(self):
        done = self.ab(
            self.program("base"),
            self.program("new", 1.05),
            "smoke/rolling",
            "--seed",
            4,
            "--quick",
            "--variants",
            "cuda_*",
            "--json",
            self.folder / "c.json",
            code=1,
        )
        told = json.loads((self.folder / "c.json").read_text())
        self.assertEqual((told["counts"]["slower"], told["counts"]["same"]), (1, 4), done.stdout)
        self.assertIn("window=30 ", told["comparisons"][0]["case"])
        self.assertIn("5 comparisons: 1 slower, 4 same", done.stdout)
        for line in self.diary():
            self.assertEqual(line[1:3], ["run", str(SOURCE / "scenarios/smoke/rolling.yaml")])
            self.assertRegex(" ".join(line[3:5]), r"^--out /proc/self/fd/\d+$")
            self.assertEqual(line[5:], ["--variants", "cuda_*", "--quick", "--no-ceilings"])

    def test_equal_builds_pass_and_may_go_on(self):
        same = self.program("same")
        self.ab(same, same, "smoke/rolling", "--seed", 1, "--repetitions", 9, code=0)
        for name in ("base", "new"):
            self.assertEqual(len(rows_of(self.folder / f"out/{name}.jsonl", "environment")), 9)
        self.ab(same, same, "smoke/rolling", "--seed", 2, "--repetitions", 9, code=0)
        self.assertEqual(len(rows_of(self.folder / "out/new.jsonl", "environment")), 18)

    def test_second_stage(self):
        """One row scatters by 3% and is 6% slower: the first stage leaves it ambiguous, the second runs its variant again and finds it. The
        rows say which stage they are of, so that `compare` alone comes to the same verdict; a budget that is too small leaves it at that."""
        for name, factor in (("base", 1), ("new", 1.06)):
            path = self.program(name, factor)
            path.write_text(
                path.read_text()
                .replace(
                    "rows = [",
                    """if "--variants" in words and words[words.index("--variants") + 1] != "rolling/cuda_shared":
    sys.exit(print("no such variant") or 2)
scatter = random.Random(len(lines)).lognormvariate(0, 0.03)
rows = [""",
                    1,
                )
                .replace(f"({float(factor)} if", f"({factor} * scatter if")
                .replace(f"({factor} if", f"({factor} * scatter if")
            )
        words = (
            self.folder / "base",
            self.folder / "new",
            "smoke/rolling",
            "--seed",
            3,
            "--json",
            self.folder / "c.json",
        )
        done = self.ab(*words, "--second-stage", "1s", code=0)
        self.assertRegex(
            done.stderr,
            r"no second stage: 1 ambiguous row that seems slower would take \d+ s or more \(20 processes of each build, \S+ s to start one\), "
            r"longer than 1 s; --second-stage \d+s has time for it",
        )
        self.assertEqual(
            ["--budget" in line for line in self.diary()], [False] * 20 + [True] * 2, "the start was measured"
        )
        shutil.rmtree(self.folder / "out")
        (self.folder / "diary").unlink()
        done = self.ab(*words, "--second-stage", "10m", code=1)
        self.assertRegex(
            done.stderr,
            r"second stage: 1 ambiguous rows seem slower; 20 more processes of each build, about \d+ min \d\d s",
        )
        self.assertRegex(done.stderr, r"process 3 of 20, seed 3, stage 1 of 2, about \d+ (s|min) left")
        told = json.loads((self.folder / "c.json").read_text())["comparisons"]
        self.assertEqual(
            [(c["verdict"], c["base_processes"], c["stage"]) for c in told if "window=30 " in c["case"]],
            [("slower", 30, 2)],
        )
        self.assertEqual([line.count("--variants") for line in self.diary()], [0] * 22 + [1] * 40)
        again = call("compare", self.folder / "out/base.jsonl", self.folder / "out/new.jsonl")
        self.assertEqual((again.returncode, again.stdout.splitlines()[1].split()[0]), (1, "slower"))

    def test_interrupted(self):
        """What the interrupted process left is removed, and the message says where the rest is."""
        slow = self.program("slow")
        slow.write_text(
            slow.read_text().replace(
                "out = pathlib",
                "if len(lines) >= 3: import time; open(words[words.index('--out') + 1], 'a').write('{}'); "
                "time.sleep(60)\nout = pathlib",
                1,
            )
        )
        ab = subprocess.Popen(
            [os.environ["RUNGS"], "ab", slow, slow, "smoke/rolling", "--seed", "1", "--out", self.folder / "out"],
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for line in ab.stderr:
            if "process 4 of" in line:
                time.sleep(1)
                ab.send_signal(signal.SIGINT)
                break
        _, errors = ab.communicate(timeout=60)
        self.assertEqual(ab.returncode, 130, errors)
        self.assertIn(f"rungs ab: interrupted; rows of the processes that ended are in {self.folder}/out", errors)
        self.assertEqual(sum(len(rows_of(path, "environment")) for path in (self.folder / "out").glob("*.jsonl")), 3)

    def test_rows_removed_between_two_processes(self):
        """A process of NEW does it to the file of BASE; the next process of BASE must not begin a new one as if nothing had been there."""
        rows = f"pathlib.Path({str(self.folder / 'out/base.jsonl')!r})"
        for deed, words, kept in (
            (f"{rows}.unlink()", r"base\.jsonl: was removed .* they are saved in (\S+)$", True),
            (f"{rows}.rename({str(self.folder / 'moved')!r})", r"base\.jsonl: was moved .* they are in (\S+)$", True),
            (
                f"({rows}.unlink(), {rows}.write_text(''))",
                r"base\.jsonl: was removed .* they are saved in (\S+)$",
                True,
            ),
            (f"os.truncate({rows}, 10)", r"base\.jsonl: was cut from \d+ to 10 bytes", False),
        ):
            new = self.program("new")
            new.write_text(new.read_text() + f"if len(lines) >= 7 and {rows}.exists(): {deed}\n")
            done = self.ab(self.program("base"), new, "smoke/rolling", "--seed", 1, code=4)
            found = re.search(words, done.stderr, re.M)
            self.assertTrue(found, done.stderr)
            if kept:
                processes = [line[0] for line in self.diary() if "0.000001" not in line]
                self.assertEqual(len(rows_of(found[1], "environment")), processes.count("base"), deed)
            shutil.rmtree(self.folder / "out")
            (self.folder / "diary").unlink()

    def test_a_commit_made_meanwhile(self):
        """The programs stay what they were: their rows are compared, and the new label is told of."""
        path = self.program("same")
        path.write_text(
            path.read_text().replace(
                'environment["variables"]',
                'environment["commit"] = ("d" if len(lines) < 9 else "e") * 40\nenvironment["variables"]',
                1,
            )
        )
        done = self.ab(path, path, "smoke/rolling", "--seed", 1, "--repetitions", 9, code=0)
        self.assertRegex(done.stdout, "commit changed while .* dddddddddddd, eeeeeeeeeeee")

    def test_rows_of_another_commit_are_noticed_first(self):
        """Not after an hour of measuring, and they stay what they were."""
        base, new = self.program("base"), self.program("new")
        self.ab(base, new, "smoke/rolling", "--seed", 1, "--repetitions", 9, code=0)
        before = (self.folder / "out/new.jsonl").read_text()
        (self.folder / "diary").unlink()
        new.write_text(
            new.read_text().replace(
                'environment["variables"]', f'environment["commit"] = "{"b" * 40}"\nenvironment["variables"]'
            )
        )
        done = self.ab(base, new, "smoke/rolling", "--seed", 1, "--repetitions", 9, code=2)
        self.assertRegex(done.stderr, r"out/new\.jsonl holds rows of [0-9a-f]{12}, but new is b{12}")
        self.assertTrue(all("--budget" in line for line in self.diary()), "only asked for their commits")
        self.assertEqual((self.folder / "out/new.jsonl").read_text(), before)
        self.assertEqual({path.name for path in (self.folder / "out").iterdir()}, {"base.jsonl", "new.jsonl"})

    def test_order_is_random_seeded_and_recorded(self):
        orders, sessions = {}, set()
        for seed in (1, 1, 2):
            shutil.rmtree(self.folder / "out", ignore_errors=True)
            (self.folder / "diary").unlink(missing_ok=True)
            self.ab(self.program("base"), self.program("new"), "x=1 y", "--seed", seed, "--repetitions", 9, code=0)
            order = tuple(line[0] for line in self.diary())
            self.assertEqual((order.count("base"), order.count("new")), (9, 9))
            self.assertEqual(orders.setdefault(seed, order), order)
            for name in ("base", "new"):
                stamps = [e["ab"] for e in rows_of(self.folder / f"out/{name}.jsonl", "environment")]
                self.assertEqual(
                    [(s["side"], s["process"], s["of"], s["seed"], s["stage"], s["stages"]) for s in stamps],
                    [(name, i + 1, 18, seed, 1, 1) for i, side in enumerate(order) if side == name],
                )
                sessions |= {s["session"] for s in stamps}
        self.assertEqual((len(set(orders.values())), len(sessions)), (2, 3), "one session a call, whatever its seed")
        self.assertTrue(all(order != ("base",) * 9 + ("new",) * 9 for order in orders.values()))

    def test_an_older_build_does_not_know_the_options_of_today(self):
        self.ab(
            self.program("base", help="--out --quick"),
            self.program("new"),
            "smoke/rolling",
            "--seed",
            1,
            "--repetitions",
            9,
            code=0,
        )
        for line in self.diary():
            self.assertEqual("--no-ceilings" in line, line[0] == "new")

    def test_a_folder_is_one_list_for_both(self):
        """Its files, as they are in this checkout: a worktree of another commit may hold others below that name."""
        self.ab(
            self.program("base"), self.program("new"), "smoke", "gate/kernels", "--seed", 1, "--repetitions", 9, code=0
        )
        files = [str(path) for path in sorted((SOURCE / "scenarios/smoke").rglob("*.yaml"))] + [
            str(SOURCE / "scenarios/gate/kernels.yaml")
        ]
        for line in self.diary():
            self.assertEqual(line[2 : line.index("--out")], files)

    def test_what_one_build_does_not_know_is_told_of(self):
        """It leaves it out; the other runs it. Both are asked before the first process."""
        done = self.ab(
            self.choosy("base", "strange n=3"),
            self.choosy("new"),
            "strange n=3",
            "smoke/rolling",
            "--seed",
            1,
            "--repetitions",
            9,
            code=0,
        )
        self.assertIn(
            "base does not know this and leaves it out; only new runs it: strange n=3\n    no op in strange n=3\n",
            done.stderr,
        )
        self.assertEqual([(line[0], "--budget" in line) for line in self.diary()][:2], [("base", True), ("new", True)])
        self.assertTrue(all("--skip-unknown" in line for line in self.diary()))
        for name in ("base", "new"):
            self.assertEqual(len(rows_of(self.folder / f"out/{name}.jsonl", "environment")), 9)
        self.assertEqual({path.name for path in (self.folder / "out").iterdir()}, {"base.jsonl", "new.jsonl"})

    def test_what_no_build_knows_is_an_error(self):
        base, new = self.choosy("base", "strange n=3"), self.choosy("new", "strange n=3", "novel n=3")
        self.assertIn(
            "neither build runs strange n=3: no op in strange n=3",
            self.ab(base, new, "strange n=3", "x=1 y", "--seed", 1, code=2).stderr,
        )
        self.assertIn(
            "supports none of the requested cases", self.ab(base, new, "novel n=3", "--seed", 1, code=2).stderr
        )
        old = self.choosy("old", "novel n=3", help="--out")
        self.assertIn("no op in novel n=3", self.ab(old, base, "novel n=3", "x=1 y", "--seed", 1, code=2).stderr)

    def test_skip_unknown(self):
        """The planner leaves out cases, suites and patterns that it does not know, says so, and runs the rest; claims are about all of it."""
        scenario, rows = self.folder / "mixed.yaml", self.folder / "rows.jsonl"
        suites = "".join(
            f"  - {{op: {op}, axes: {{n: [{n}]}}, variants: [{variant}]}}\n"
            for op, n, variant in (
                ("double", 5, "cpu_loop"),
                ("novel", 5, "cpu_loop"),
                ("double", 5, "cpu_novel"),
                ("double", "x", "cpu_loop"),
                ("double", 6, "cpu_loop"),
            )
        )
        scenario.write_text(f"title: t\nsuites:\n{suites}claims: nonsense\n")
        words = ("run", scenario, "novel n=3", "double n=7", "--verify-only", "--no-ceilings", "--out", rows)
        self.assertEqual(call(*words).returncode, 2)
        done = call(*words, "--skip-unknown", "--variants", "cpu_loop,cpu_other")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = [line.removeprefix("left out: ") for line in done.stderr.splitlines() if line.startswith("left out: ")]
        self.assertEqual(told, [*(f"{scenario}, suite {k}" for k in (2, 3, 4)), "novel n=3", "cpu_other"])
        self.assertRegex(done.stderr, rf"suite 2\n    {scenario}:4:\d+: .*novel")
        self.assertEqual([row["params"]["n"] for row in rows_of(rows)], [5, 6, 7])
        done = call("run", "novel n=3", "--skip-unknown", "--out", rows)
        self.assertEqual(
            (done.returncode, "supports none of the requested cases" in done.stderr), (2, True), done.stderr
        )

    def test_bad_words_and_programs(self):
        base, new = self.program("base"), self.program("new")
        self.assertIn("at least 9 are needed", self.ab(base, new, "smoke/rolling", "--repetitions", 8, code=2).stderr)
        self.assertIn("two programs", self.ab(base, "smoke/rolling", code=2).stderr)
        self.assertIn("cannot be started", self.ab(base, self.folder / "none", "smoke/rolling", code=4).stderr)
        for other in ("false", "true"):
            self.assertIn("is it a rungs program?", self.ab(base, shutil.which(other), "smoke/rolling", code=2).stderr)
        self.assertFalse((self.folder / "diary").exists(), "nothing runs before all is known to be there")
        self.assertIn("is not a commit", self.ab("--base", "no-such-ref", "smoke/rolling", code=2).stderr)

    @unittest.skipIf(GPU, "needs a machine without a GPU")
    def test_nothing_to_time_is_told_first(self):
        """Before anything runs; rows that do have times are compared all the same."""
        rungs = os.environ["RUNGS"]
        words = ("rolling n=1000 window=3", "--repetitions", 9)
        done = self.ab(rungs, rungs, *words, "--variants", "peer_cupy", code=3)
        self.assertRegex(done.stderr, r"^rungs ab: nothing would be timed: 1 of 1 rows need a GPU: .+\n$")
        self.assertEqual(list((self.folder / "out").glob("*.jsonl")), [], "no process ran")
        done = call("calibrate", *words, "--variants", "peer_cupy")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("rungs calibrate: nothing would be timed", done.stderr)
        self.ab(
            self.program("base"), self.program("new"), *words, "--seed", 1, "--variants", "peer_cupy", code=0
        )  # no rungs: they may know better

    def test_a_build_that_breaks_ends_it(self):
        done = self.ab(self.program("base"), self.program("new", fails=True), "smoke/rolling", "--seed", 1, code=4)
        self.assertIn("new: ", done.stderr)
        self.assertIn("a bad day", done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual([line[0] for line in self.diary()].count("new"), 1)

    def test_calibrate(self):
        """This build against itself, on a case that takes no time; what it writes is what compare takes."""
        if not RELEASE:
            self.skipTest("only release builds take times")
        noise = self.folder / "noise.json"
        words = ("double n=1000", "--variants", "cpu_loop", "--quick")
        done = call("calibrate", *words, "--repetitions", 9, "--out", noise)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(noise.read_text())
        self.assertIn("hot", {row["mode"] for row in told["rows"]})
        self.assertTrue(all(row["processes"] == 9 and row["spread"] > 0 for row in told["rows"]), told)
        self.assertNotIn(os.uname().nodename, noise.read_text())
        rows = self.folder / "rows.jsonl"
        call("run", *words, "--no-ceilings", "--out", rows)
        self.assertEqual(rows_of(rows, "ceilings"), [])
        done = call("compare", rows, rows, "--noise", noise)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = call("calibrate", *words, "--repetitions", 9)
        default = pathlib.Path(done.stdout.splitlines()[-1].removeprefix("noise: "))
        self.assertEqual(default.parent, BUILD / "noise")
        self.assertIn("at least 9 are needed", call("calibrate", *words, "--repetitions", 8).stderr)

    def test_ab_of_this_build(self):
        """Real rows: every process is one run with its own environment, and the files are whole."""
        if not RELEASE:
            self.skipTest("only release builds take times")
        rungs = os.environ["RUNGS"]
        done = call(
            "ab",
            rungs,
            rungs,
            "double n=1000",
            "--variants",
            "cpu_loop",
            "--quick",
            "--repetitions",
            9,
            "--second-stage",
            "0s",
            "--out",
            self.folder / "out",
            "--json",
            self.folder / "c.json",
            env={**os.environ, "RUNGS_COMMIT": "c" * 40},
        )  # somebody may commit meanwhile
        self.assertIn(done.returncode, (0, 1), done.stderr)
        told = json.loads((self.folder / "c.json").read_text())
        self.assertGreaterEqual(len(told["comparisons"]), 2)
        self.assertTrue(all(c["base_processes"] == c["new_processes"] == 9 for c in told["comparisons"]), told)
        self.assertEqual(
            {c["mode"]: c["judged_by"] for c in told["comparisons"] if c["mode"] in ("cold", "hot")},
            {"cold": "code", "hot": "code"},
        )
        self.assertTrue(
            all(c["judged_by"] == "code" or c["tested_on"] == "processes" for c in told["comparisons"]), told
        )


class BuildOfACommit(unittest.TestCase):
    """cmake/build_ref.sh in a small repository, with a cmake that only notes how it was called."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rungs_ref_")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.repository, self.tools, self.own = (self.root / name for name in ("repository", "tools", "own"))
        for path in (self.repository, self.tools, self.own):
            path.mkdir(parents=True)
        (self.own / "CMakeCache.txt").write_text("RUNGS_CUDA:BOOL=OFF\nCMAKE_C_COMPILER:FILEPATH=/usr/bin/my cc\n")
        (self.tools / "cmake").write_text(f"""#!/bin/sh
echo "$@" >> {self.root}/calls
if [ -e {self.root}/broken ]; then echo "no rule to make rungs"; exit 1; fi
if [ "$1" = --build ]; then mkdir -p "$2/bin" && cp "$2/../../version" "$2/bin/kernels"; fi
""")
        (self.tools / "cmake").chmod(0o755)
        self.git("init", "-q")

    def git(self, *words):
        return subprocess.run(
            ["git", "-C", self.repository, "-c", "user.name=t", "-c", "user.email=t@t", *words],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    def commit(self, *versions):
        for version in versions:
            (self.repository / "version").write_text(version)
            self.git("add", ".")
            self.git("commit", "-q", "-m", version)

    def build(self, ref, **variables):
        return subprocess.run(
            [SOURCE / "cmake/build_ref.sh", self.repository, "kernels", ref, self.root / "builds", self.own],
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": f"{self.tools}:{os.environ['PATH']}", **variables},
        )

    def built(self, ref, **variables):
        done = self.build(ref, **variables)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return pathlib.Path(done.stdout.strip())

    def there(self):
        """What the programs say that are there, however the files beside them are called."""
        return sorted(path.read_text() for path in (self.root / "builds").glob("*/build/release/bin/kernels"))

    def test_worktree(self):
        self.commit("one", "two")
        for ref, version in (("HEAD~1", "one"), ("HEAD", "two"), ("HEAD~1", "one")):
            self.assertEqual(self.built(ref).read_text(), version)
        calls = (self.root / "calls").read_text()
        self.assertIn("-DRUNGS_CUDA=OFF -DCMAKE_C_COMPILER=/usr/bin/my cc", calls)
        self.assertIn("--target kernels", calls)
        self.assertEqual(len(self.git("worktree", "list").splitlines()), 3, "the worktree of a commit is kept")
        tree = next(
            path
            for path in (self.root / "builds").iterdir()
            if (path / "version").exists() and (path / "version").read_text() == "two"
        )
        (tree / "version").unlink()
        pathlib.Path(f"{tree}.whole").unlink()
        self.assertEqual(
            (self.build("HEAD").returncode, (tree / "version").read_text()),
            (0, "two"),
            "a checkout that was cut off is made anew",
        )
        self.assertEqual(self.build("nonsense").returncode, 2)
        (self.root / "broken").touch()
        done = self.build("HEAD")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"^[0-9a-f]{12} does not compile: no rule to make rungs; the log is \S+\n$")

    def test_only_the_last_used_are_kept(self):
        """Of seven commits, as many pushes make them: the disk does not fill. What git and the folder hold of the others goes, too."""
        self.commit(*"abcdefg")
        for back in (6, 5, 4, 3):
            self.built(f"HEAD~{back}")
        self.built("HEAD~6")  # the oldest has been used again
        self.built("HEAD~2")
        self.assertEqual(self.there(), ["a", "c", "d", "e"])
        self.assertEqual(len(self.git("worktree", "list").splitlines()), 5)
        self.assertEqual(len([path for path in (self.root / "builds").iterdir() if path.suffix == ".lock"]), 4)
        self.assertEqual(self.built("HEAD~5").read_text(), "b", "what was removed can be built again")
        self.built("HEAD", RUNGS_AB_BUILDS="2")
        self.assertEqual(self.there(), ["b", "g"])
        self.assertIn("a number of at least 1", self.build("HEAD", RUNGS_AB_BUILDS="none").stdout)

    def test_what_is_in_use_is_not_removed(self):
        self.commit(*"abc")
        with open(self.built("HEAD~2")) as measured:
            fcntl.flock(measured, fcntl.LOCK_SH)  # as rungs ab does until it ends
            self.built("HEAD~1", RUNGS_AB_BUILDS="1")
            self.assertEqual(self.there(), ["a", "b"])
            with open(f"{self.built('HEAD~1').parents[3]}.lock") as building:
                fcntl.flock(building, fcntl.LOCK_EX)
                self.built("HEAD", RUNGS_AB_BUILDS="1")
                self.assertEqual(self.there(), ["a", "b", "c"])
        self.built("HEAD", RUNGS_AB_BUILDS="1")
        self.assertEqual(self.there(), ["c"])


@unittest.skipUnless((SOURCE / ".git").exists(), "takes commits: a repository")
class Commits(WithPrograms):
    """`rungs ab --base`, with a git that knows two commits and a cmake that makes programs of known speed."""

    def setUp(self):
        super().setUp()
        self.commits = {"before": uuid.uuid4().hex + "0" * 8, "HEAD": uuid.uuid4().hex + "0" * 8}
        self.addCleanup(self.remove_builds)
        (self.folder / "changes").write_text("")
        self.tools = self.folder / "tools"
        self.tools.mkdir()
        self.tool(
            "git",
            f"""words="$*"
case $words in
*"before^{{commit}}" | *{self.commits["before"]}"^{{commit}}") echo {self.commits["before"]} ;;
*{self.commits["HEAD"]}"^{{commit}}") echo {self.commits["HEAD"]} ;;
*"rev-parse --verify"*) if [ -e {self.folder}/moved ]; then echo {"c" * 40}; else echo {self.commits["HEAD"]}; fi ;;
*"worktree add"*) for word; do before=$tree tree=$word; done; mkdir -p "$before" && touch "$before/.git" ;;
*" status "*) cat {self.folder}/changes ;;
esac""",
        )
        self.tool(
            "cmake",
            f"""if [ "$1" = --build ]; then
    case $2 in *{self.commits["HEAD"][:12]}*) name=new ;; *) name=base ;; esac
    echo "$name" >>{self.folder}/built
    if [ -e {self.folder}/moves ]; then touch {self.folder}/moved; fi
    mkdir -p "$2/bin" && cp {self.folder}/$name "$2/bin/rungs"
fi""",
        )
        self.program("base")
        self.program("new")

    def tool(self, name, text):
        (self.tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.tools / name).chmod(0o755)

    def remove_builds(self):
        for commit in self.commits.values():
            for path in (BUILD / "ab/builds").glob(commit[:12] + "*"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def words(self, *words):
        return [
            os.environ["RUNGS"],
            "ab",
            *words,
            "smoke/rolling",
            "--seed",
            "1",
            "--repetitions",
            "9",
            "--second-stage",
            "0s",
            "--out",
            self.folder / "out",
        ]

    def variables(self):
        return {
            **os.environ,
            "PATH": f"{self.tools}:{os.environ['PATH']}",
            "RUNGS_AB_BUILDS": "100",
        }  # the builds of others stay

    def commits_compared(self, *words):
        done = subprocess.run(self.words(*words), capture_output=True, text=True, env=self.variables())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stderr

    def test_what_is_not_measured_is_told_of(self):
        self.assertNotIn("warning", self.commits_compared("--base", "before"))
        self.assertEqual({line[0] for line in self.diary()}, {"base", "new"})
        (self.folder / "changes").write_text(" M impls/op/cuda_a.cu\n M impls/op/cuda_b.cu\n")
        self.assertIn(
            "uncommitted changes ( M impls/op/cuda_a.cu, ...) are in neither build",
            self.commits_compared("--base", "before"),
        )
        self.assertNotIn("warning", self.commits_compared("--base", "before", "--new", self.commits["HEAD"]))

    @unittest.skipIf(GPU, "needs a machine without a GPU")
    def test_nothing_to_time_is_told_before_the_builds(self):
        cuda = any(variant["backend"] == "cuda" for variant in json.loads(call("list", "variants", "--json").stdout))
        for what, options in [
            ("rolling n=1000 window=3", ("--variants", "peer_cupy")),
            *([("gate/kernels", ())] if cuda else []),
        ]:
            words = [what if word == "smoke/rolling" else word for word in self.words("--base", "before", *options)]
            done = subprocess.run(words, capture_output=True, text=True, env=self.variables())
            self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
            self.assertIn("nothing would be timed", done.stderr)
            self.assertFalse((self.folder / "built").exists(), "nothing was built")

    def test_a_commit_against_itself_is_told_of(self):
        """Also where somebody commits while the first is being built."""
        (self.folder / "moves").touch()
        self.assertIn("BASE and NEW are the same commit", self.commits_compared("--base", "HEAD"))

    def test_builds_do_not_wait_for_the_lock(self):
        lock = self.folder / "lock"
        with open(lock, "w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            ab = subprocess.Popen(
                self.words("--base", "before", "--lock", lock),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=self.variables(),
            )
            for line in ab.stderr:
                if "waiting for" in line:
                    break
            self.assertEqual((self.folder / "built").read_text().split(), ["base", "new"])
            self.assertFalse((self.folder / "diary").exists(), "somebody else measures")
        out, errors = ab.communicate(timeout=120)
        self.assertEqual(ab.returncode, 0, out + errors)
        self.assertEqual(len(self.diary()), 18)


if __name__ == "__main__":
    sys.exit(not unittest.main(exit=False, verbosity=2).result.wasSuccessful())
