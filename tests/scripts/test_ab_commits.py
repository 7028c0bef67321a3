"""`rungs ab --base` from end to end: the real program, a real git project of several commits, and variants whose times are known: they wait. Each
process is slower by a factor of its own in all rows, so that the planted slow-down is seen only where the order is known and times are adjusted."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from program import BUILD, RELEASE, RUNGS, SANITIZED, SOURCE, call, rows_of

try:
    import scipy  # noqa: F401
except ImportError as error:
    print(error)
    sys.exit(77)

OLD = "9379e84"  # the last commit whose rows hold no order
ROWS = 12
PLANTED = 1005  # the n of the row that NEW is slower in
COMMON, WOBBLE = (
    (1.0, 1.5),
    {"base": (0.85, 0.85, 1.15, 1.15), "new": (0.95, 0.95, 1.3, 1.3)},
)  # factors of the processes of a side, in turn

# A variant that computes, and then waits until `nominal` seconds times the factors of its process are over.
VARIANT = """/* Idea: waits. Traffic: reads x and y once, writes z once. Rounding: product and sum. Limits: none. Origin: a test. */
#include "base/clock.h"
#include "variant.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The number of this process among those of its side: the program that started this worker, noted in a file. It allocates nothing. */
static int place(void) {{
    static int found = -1;
    static char text[4096];
    char own[16];
    if (found >= 0) return found;
    snprintf(own, sizeof own, "%010d\\n", (int)getppid());
    const int file = open("{counter}", O_RDWR | O_CREAT | O_APPEND, 0666);
    const ssize_t length = read(file, text, sizeof text - 1);
    text[length > 0 ? length : 0] = '\\0';
    const char *line = strstr(text, own);
    found = (int)(line ? line - text : length) / (int)strlen(own);
    if (!line && write(file, own, strlen(own)) < 0) found = 0;
    close(file);
    return found;
}}

static Status run(const VariantArgs *args) {{
    static const double COMMON[] = {{{common}}}, WOBBLE[] = {{{wobble}}};
    const double begin = clock_seconds();
    const size_t n = array_count(&args->out[0]);
    const double a = params_real(&args->problem->params, "a"), *x = args->in[0].data, *y = args->in[1].data;
    double *z = args->out[0].data, seconds = 100e-6 * COMMON[place() % 2] * WOBBLE[place() % 4];
    for (size_t i = 0; i < n; i++) z[i] = a * x[i] + y[i];
    if (n == {planted}) seconds *= {factor};
    while (clock_seconds() - begin < seconds) {{
    }}
    return STATUS_OK;
}}

RUNGS_VARIANT(axpy, {name}) = {{.backend = BACKEND_CPU, .summary = "waits", .origin = "a test", .run = run}};
"""

SCENARIO = """title: waits
suites:
  - {{op: axpy, axes: {{dtype: [f64], n: [{sizes}], input: [uniform]}}, variants: [cpu_loop], modes: [hot]}}
  - {{op: axpy, axes: {{dtype: [f64], n: [2000], input: [uniform]}}, variants: [cpu_wobble], modes: [hot]}}
"""


class Commits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if SANITIZED or not RELEASE:
            raise unittest.SkipTest(
                "only release builds take times, and a project of a sanitized build needs the sanitizers"
            )
        cls.place = tempfile.TemporaryDirectory(prefix="rungs_commits_")
        cls.addClassCleanup(cls.place.cleanup)
        cls.folder = pathlib.Path(cls.place.name).resolve()
        cls.root = cls.folder / "waits"
        cls.environment = {
            **os.environ,
            "RUNGS_PYTHON": sys.executable,
            "XDG_STATE_HOME": str(cls.folder / "state"),
            "GIT_CONFIG_GLOBAL": "/dev/null",
        }
        for name in ("RUNGS_SOURCE", "RUNGS_BUILD", "RUNGS", "RUNGS_COMMIT", "RUNGS_AB"):
            cls.environment.pop(name, None)
        prefix = cls.folder / "prefix"
        subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, capture_output=True)
        cls.succeed(prefix / "bin/rungs", "new", cls.root, "--op", "axpy")
        for path in (*cls.root.glob("impls/axpy/cuda_*"), *cls.root.glob("impls/axpy/peer_*")):
            path.unlink()
        cls.git("init", "-q")
        cls.commit("base", 1.0, ROWS)
        cls.commit("new", 1.3, ROWS - 1)
        cls.succeed(prefix / "bin/rungs", "build", cls.root)

    @classmethod
    def succeed(cls, *words):
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True, env=cls.environment)
        if done.returncode:
            raise AssertionError(f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")

    @classmethod
    def git(cls, *words):
        return subprocess.run(
            [
                "git",
                "-C",
                cls.root,
                "-c",
                "user.name=t",
                "-c",
                "user.email=t@t",
                "-c",
                "core.hooksPath=/dev/null",
                *words,
            ],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    @classmethod
    def write(cls, side, factor, rows, broken=""):
        for name in ("loop", "wobble"):
            wobble = WOBBLE[side] if name == "wobble" else (1.0,) * 4
            text = VARIANT.format(
                counter=cls.folder / f"{side}-{name}",
                common=", ".join(map(str, COMMON)),
                wobble=", ".join(map(str, wobble)),
                planted=PLANTED,
                factor=factor,
                name=f"cpu_{name}",
            )
            (cls.root / f"impls/axpy/cpu_{name}.c").write_text(text + broken)
        (cls.root / "scenarios/waits.yaml").write_text(
            SCENARIO.format(sizes=", ".join(str(1000 + k) for k in range(rows)))
        )

    @classmethod
    def commit(cls, *how, **more):
        cls.write(*how, **more)
        cls.git("add", ".")
        cls.git("commit", "-q", "-m", how[0])

    def ab(self, *words):
        return call(
            "ab",
            *words,
            "waits",
            "--quick",
            "--seed",
            3,
            "--json",
            self.folder / "c.json",
            program=self.root / "build/release/bin/waits",
            env=self.environment,
            timeout=580,
        )

    def test_a_slow_commit(self):
        out = self.folder / "out"
        done = self.ab("--base", "HEAD~1", "--second-stage", "5m", "--out", out)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        told = json.loads((self.folder / "c.json").read_text())
        timed = [c for c in told["comparisons"] if c["mode"]]
        self.assertEqual({c["randomised"] for c in timed}, {True}, done.stdout)
        self.assertFalse(told["not_in_turns"])
        self.assertTrue(
            done.stdout.split("\n")[1].startswith("verdict "), f"nothing else is said before the table: {done.stdout}"
        )
        self.assertEqual(
            [(one["rows"], one["verdict"]) for one in told["together"]][:1],
            [(ROWS, "ambiguous")],
            "all rows together are tested",
        )
        slower = [c for c in timed if c["verdict"] == "slower"]
        self.assertEqual(
            [(f" n={PLANTED} " in c["case"], c["judged_by"]) for c in slower], [(True, "adjusted")], done.stdout
        )
        self.assertAlmostEqual(slower[0]["ratio"], 1.3, delta=0.1)

        with self.subTest("the second stage"):
            self.assertRegex(done.stderr, r"second stage: [1-9]\d* ambiguous rows seem slower", done.stdout)
            (again,) = (c for c in timed if "cpu_wobble" in c["spec"])
            self.assertEqual((again["base_processes"], again["new_processes"], again["stage"]), (30, 30, 2))
            # On a busy machine others may be ambiguous, too; those that are not stay as they are.
            self.assertEqual(
                {(c["stage"], c["new_processes"]) for c in timed if "cpu_loop" in c["spec"] and c["stage"] != 2},
                {(1, 10)},
            )

        with self.subTest("the files"):
            files = {side: rows_of(out / f"{side}.jsonl", "environment") for side in ("base", "new")}
            stamps = {side: [line["ab"] for line in lines if "ab" in line] for side, lines in files.items()}
            for stage, of in ((1, 20), (2, 40)):
                places = sorted(s["process"] for side in stamps.values() for s in side if s["stage"] == stage)
                self.assertEqual(places, list(range(1, of + 1)), "every place of the order once")
            self.assertEqual({(s["side"], s["seed"], s["stages"]) for s in stamps["new"]}, {("new", 3, 2)})
            self.assertEqual(len({s["session"] for side in stamps.values() for s in side}), 1)
            self.assertEqual(
                {(s["cpus"], s["cpu_quota"]) for s in stamps["base"]},
                {(e["cpu"]["cpus"], e["cpu"]["cpu_quota"]) for e in files["base"]},
            )

        with self.subTest("a case that NEW's scenario lacks"):
            missing = [c for c in told["comparisons"] if c["verdict"] == "missing"]
            self.assertEqual(
                [(f" n={1000 + ROWS - 1} " in c["case"], c["reason"]) for c in missing],
                [(True, "not in NEW")],
                done.stdout,
            )
            self.assertIn("1 rows of base are no longer in the scenarios (axpy/cpu_loop | axpy ", done.stderr)

        again = call(
            "compare",
            out / "base.jsonl",
            out / "new.jsonl",
            program=self.root / "build/release/bin/waits",
            env=self.environment,
        )
        self.assertEqual((again.returncode, again.stdout.split("\n")[1].split()[0]), (1, "slower"), again.stdout)

    def test_a_variant_that_does_not_compile(self):
        """Its rows alone: wrong in NEW, without a base in BASE, with the compiler's first error; where no row has a base, nothing was decided."""
        self.addCleanup(self.git, "reset", "-q", "--hard", self.git("rev-parse", "HEAD"))
        loop, wobble = (self.root / f"impls/axpy/cpu_{name}.c" for name in ("loop", "wobble"))
        error = r"impls/axpy/cpu_loop\.c:\d+:\d+: error: expected expression"
        words = ("--second-stage", "0s", "--repetitions", 9, "--variants")
        loop.write_text(loop.read_text() + "int x = ;\n")
        self.git("commit", "-qam", "one is broken")
        for sides, code, verdict in (
            (("--base", "HEAD~1"), 1, "wrong"),
            (("--base", "HEAD", "--new", "HEAD~1"), 0, "no base"),
        ):
            done = self.ab(*sides, *words, "cpu_*", "--min-effect", "100%")
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            told = json.loads((self.folder / "c.json").read_text())
            found = [c for c in told["comparisons"] if c["spec"].startswith("axpy/cpu_loop")]
            self.assertEqual({c["verdict"] for c in found}, {verdict}, done.stdout)
            self.assertRegex(found[0]["reason"], error)
            others = {c["verdict"] for c in told["comparisons"] if c["spec"].startswith("axpy/cpu_wobble")}
            self.assertTrue(others and others <= {"same", "ambiguous", "faster"}, done.stdout)
        done = self.ab("--base", "HEAD", "--new", "HEAD~1", *words, "cpu_loop")
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        wobble.write_text(wobble.read_text().replace("axpy, cpu_wobble", "axpy, cpu_other"))
        self.git("commit", "-qam", "and one has another's name")
        done = self.ab("--base", "HEAD~1", *words, "cpu_wobble")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("the descriptor is RUNGS_VARIANT(axpy, cpu_other)", done.stdout)

    def test_a_commit_that_does_not_compile(self):
        """NEW: the gate fails. BASE: nothing can be compared. Both say why in the words of the compiler, or of CMake."""
        self.addCleanup(self.git, "reset", "-q", "--hard", self.git("rev-parse", "HEAD"))
        reference, lists = self.root / "reference/axpy.c", self.root / "CMakeLists.txt"
        whole = reference.read_text()
        reference.write_text(whole + "int x = ;\n")
        self.git("commit", "-qam", "broken")
        error = r"\S+/reference/axpy\.c:\d+:\d+: error: expected expression[^\n]*"
        for words, code, side in ((("--base", "HEAD~1"), 1, "NEW"), (("--base", "HEAD", "--new", "HEAD~1"), 4, "BASE")):
            self.refused(words, code, side, error)
        reference.write_text(whole)
        lists.write_text('message(FATAL_ERROR "no such luck")\n' + lists.read_text())
        self.git("commit", "-q", "--amend", "-am", "broken")
        self.refused(("--base", "HEAD~1"), 1, "NEW", r"CMake Error at CMakeLists\.txt:1 \(message\): no such luck")

    def test_a_commit_that_does_not_start(self):
        self.addCleanup(self.git, "reset", "-q", "--hard", self.git("rev-parse", "HEAD"))
        reference = self.root / "reference/axpy.c"
        reference.write_text(
            reference.read_text() + "__attribute__((constructor)) static void trap(void) { __builtin_trap(); }\n"
        )
        self.git("commit", "-qam", "broken")
        for words, code, side in ((("--base", "HEAD~1"), 1, "NEW"), (("--base", "HEAD", "--new", "HEAD~1"), 4, "BASE")):
            done = self.ab(*words)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            self.assertRegex(done.stderr, rf"\nrungs: {side} does not start: .*exit code 132")

    def refused(self, words, code, side, error):
        done = self.ab(*words)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertRegex(done.stderr, rf"\nrungs: {side}: [0-9a-f]{{12}} does not compile: {error}; the log is \S+\n$")

    def test_a_mode_that_is_taken_out(self):
        """Of one row, which stays with its other mode; and of none, where another file times the same row in it."""
        self.addCleanup(self.git, "reset", "-q", "--hard", "HEAD~2")
        path = self.root / "scenarios/waits.yaml"
        path.write_text(
            SCENARIO.format(sizes="1000").replace("[cpu_wobble], modes: [hot]", "[cpu_wobble], modes: [cold, hot]")
        )
        self.git("commit", "-qam", "two modes")
        path.write_text(
            SCENARIO.format(sizes="1000").replace("[cpu_wobble], modes: [hot]", "[cpu_wobble], modes: [cold]")
        )
        self.git("commit", "-qam", "one mode")
        words = ("--second-stage", "0s", "--repetitions", 9)
        done = self.ab("--base", "HEAD~1", *words, "--out", self.folder / "modes")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        told = json.loads((self.folder / "c.json").read_text())
        self.assertEqual(
            [(c["spec"], c["mode"], c["reason"]) for c in told["comparisons"] if c["verdict"] == "missing"],
            [("axpy/cpu_wobble", "hot", "not timed in NEW")],
            done.stdout,
        )
        self.assertEqual(
            {(c["base_processes"], c["randomised"]) for c in told["comparisons"] if c["verdict"] != "missing"},
            {(9, True)},
            done.stdout,
        )
        self.assertIn("1 rows of base are no longer timed in all of their modes (axpy/cpu_wobble | axpy ", done.stderr)

        path.write_text(
            path.read_text()
            + "  - {op: axpy, axes: {dtype: [f64], n: [2000], input: [uniform]}, variants: [cpu_wobble], modes: [hot]}\n"
        )
        self.git("commit", "-q", "--amend", "-am", "in two suites")
        done = self.ab("--base", "HEAD~1", *words)
        self.assertNotIn("no longer", done.stderr)
        told = json.loads((self.folder / "c.json").read_text())
        self.assertFalse([c for c in told["comparisons"] if c["verdict"] == "missing"], done.stdout)

    def test_a_program_that_knows_nothing_of_it(self):
        """BASE given as a program that drops its environment and whose lines lack every fact of today: gated all the same, and what it lacks is said."""
        program, old = self.root / "build/release/bin/waits", self.folder / "old"
        old.write_text(f"""#!/bin/sh
if [ "$2" = --help ]; then exec {program} "$@"; fi
for word; do if [ "$before" = --out ]; then out=$word; fi; before=$word; done
env -i PATH="$PATH" HOME=/ OMP_WAIT_POLICY=passive RUNGS_PYTHON={sys.executable} {program} "$@"
code=$?
sed -E -i 's/,"cpus":"[^"]*","cpu_quota":[^,}}]*(}},"others)/\\1/; s/"threads":[0-9]+,"code"/"code"/' "$out"
exit $code
""")
        old.chmod(0o755)
        self.environment["OMP_WAIT_POLICY"] = "passive"  # a variable that counts
        done = self.ab(old, program, "--second-stage", "0s", "--repetitions", 9, "--variants", "cpu_loop")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        told = json.loads((self.folder / "c.json").read_text())
        self.assertEqual(
            {(c["randomised"], c["verdict"] in ("same", "ambiguous")) for c in told["comparisons"]},
            {(True, True)},
            done.stdout,
        )
        self.assertTrue(
            re.search(r"not recorded by an older program and assumed equal: threads used of BASE", done.stdout),
            done.stdout,
        )

    @unittest.skipUnless("RUNGS_TEST_FULL" in os.environ, "builds a whole program: with --full")
    def test_a_commit_of_before(self):
        """The real program of a commit that knows nothing of the stamp, as BASE of the one under test."""
        if subprocess.run(["git", "-C", SOURCE, "cat-file", "-e", f"{OLD}^{{commit}}"], capture_output=True).returncode:
            self.skipTest(f"this clone does not hold {OLD}")
        made = subprocess.run(
            [SOURCE / "cmake/build_ref.sh", SOURCE, "rungs", OLD, f"{BUILD}/ab/builds", BUILD],
            capture_output=True,
            text=True,
        )
        self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
        done = call(
            "ab",
            made.stdout.strip(),
            RUNGS,
            "double n=1e4",
            "--variants",
            "cpu_loop",
            "--repetitions",
            9,
            "--second-stage",
            "0s",
            "--out",
            self.folder / "old",
            "--json",
            self.folder / "c.json",
            timeout=600,
        )
        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
        told = json.loads((self.folder / "c.json").read_text())
        timed = [c for c in told["comparisons"] if c["mode"]]
        self.assertEqual(
            {(c["randomised"], c["base_processes"], c["new_processes"]) for c in timed}, {(True, 9, 9)}, done.stdout
        )
        self.assertFalse(told["not_in_turns"])
        self.assertEqual(
            {line["ab"]["side"] for line in rows_of(self.folder / "old/base.jsonl", "environment")}, {"base"}
        )


if __name__ == "__main__":
    unittest.main(verbosity=2)
