"""`rungs ab --base` from end to end: the real program, a real git project of several commits, and variants whose times are known: they wait. Each
process is slower by a factor of its own in all rows, so that the planted slow-down is seen only where the order is known and times are adjusted."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
from program import BUILD, FULL, RELEASE, RUNGS, SANITIZED, SOURCE, call, rows_of

pytest.importorskip("scipy")
pytestmark = pytest.mark.skipif(
    SANITIZED or not RELEASE,
    reason="only release builds take times, and a project of a sanitized build needs the sanitizers",
)

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


class Project:
    def __init__(self, folder):
        self.folder = folder
        self.root = self.folder / "waits"
        self.environment = {
            **os.environ,
            "RUNGS_PYTHON": sys.executable,
            "XDG_STATE_HOME": str(self.folder / "state"),
            "GIT_CONFIG_GLOBAL": "/dev/null",
        }
        for name in ("RUNGS_SOURCE", "RUNGS_BUILD", "RUNGS", "RUNGS_COMMIT", "RUNGS_AB"):
            self.environment.pop(name, None)
        prefix = self.folder / "prefix"
        subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, capture_output=True)
        self.succeed(prefix / "bin/rungs", "new", self.root, "--op", "axpy")
        for path in (*self.root.glob("impls/axpy/cuda_*"), *self.root.glob("impls/axpy/peer_*")):
            path.unlink()
        self.git("init", "-q")
        self.commit("base", 1.0, ROWS)
        self.commit("new", 1.3, ROWS - 1)
        self.succeed(prefix / "bin/rungs", "build", self.root)

    def succeed(self, *words):
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True, env=self.environment)
        if done.returncode:
            raise AssertionError(f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")

    def git(self, *words):
        return subprocess.run(
            [
                "git",
                "-C",
                self.root,
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

    def write(self, side, factor, rows, broken=""):
        for name in ("loop", "wobble"):
            wobble = WOBBLE[side] if name == "wobble" else (1.0,) * 4
            text = VARIANT.format(
                counter=f"/dev/shm/{self.folder.name}-{side}-{name}",  # a worker may write there
                common=", ".join(map(str, COMMON)),
                wobble=", ".join(map(str, wobble)),
                planted=PLANTED,
                factor=factor,
                name=f"cpu_{name}",
            )
            (self.root / f"impls/axpy/cpu_{name}.c").write_text(text + broken)
        (self.root / "scenarios/waits.yaml").write_text(
            SCENARIO.format(sizes=", ".join(str(1000 + k) for k in range(rows)))
        )

    def commit(self, *how, **more):
        self.write(*how, **more)
        self.git("add", ".")
        self.git("commit", "-q", "-m", how[0])

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

    def refused(self, words, code, side, error):
        done = self.ab(*words)
        assert done.returncode == code, done.stdout + done.stderr
        assert re.search(rf"\nrungs: {side}: [0-9a-f]{{12}} does not compile: {error}; the log is \S+\n$", done.stderr)


@pytest.fixture(scope="module")
def built(shared_folder):
    yield Project(shared_folder)
    for counter in pathlib.Path("/dev/shm").glob(f"{shared_folder.name}-*"):
        counter.unlink()


@pytest.fixture
def project(built):
    """Its commits are as before, once the test is over."""
    head = built.git("rev-parse", "HEAD")
    yield built
    built.git("reset", "-q", "--hard", head)


def test_a_slow_commit(project):
    out = project.folder / "out"
    done = project.ab("--base", "HEAD~1", "--second-stage", "5m", "--out", out)
    assert done.returncode == 1, done.stdout + done.stderr
    told = json.loads((project.folder / "c.json").read_text())
    timed = [c for c in told["comparisons"] if c["mode"]]
    assert {c["randomised"] for c in timed} == {True}, done.stdout
    assert not told["not_in_turns"]
    assert done.stdout.split("\n")[1].startswith("verdict "), f"nothing else is said before the table: {done.stdout}"
    assert [(one["rows"], one["verdict"]) for one in told["together"]][:1] == [(ROWS, "ambiguous")], (
        "all rows together are tested"
    )
    slower = [c for c in timed if c["verdict"] == "slower"]
    assert [(f" n={PLANTED} " in c["case"], c["judged_by"]) for c in slower] == [(True, "adjusted")], done.stdout
    assert slower[0]["ratio"] == pytest.approx(1.3, abs=0.1)

    assert re.search(r"second stage: [1-9]\d* ambiguous rows seem slower", done.stderr), done.stdout
    (again,) = (c for c in timed if "cpu_wobble" in c["spec"])
    assert (again["base_processes"], again["new_processes"], again["stage"]) == (30, 30, 2)
    # On a busy machine others may be ambiguous, too; those that are not stay as they are.
    assert {(c["stage"], c["new_processes"]) for c in timed if "cpu_loop" in c["spec"] and c["stage"] != 2} == {(1, 10)}

    files = {side: rows_of(out / f"{side}.jsonl", "environment") for side in ("base", "new")}
    stamps = {side: [line["ab"] for line in lines if "ab" in line] for side, lines in files.items()}
    for stage, of in ((1, 20), (2, 40)):
        places = sorted(s["process"] for side in stamps.values() for s in side if s["stage"] == stage)
        assert places == list(range(1, of + 1)), "every place of the order once"
    assert {(s["side"], s["seed"], s["stages"]) for s in stamps["new"]} == {("new", 3, 2)}
    assert len({s["session"] for side in stamps.values() for s in side}) == 1
    assert {(s["cpus"], s["cpu_quota"]) for s in stamps["base"]} == {
        (e["cpu"]["cpus"], e["cpu"]["cpu_quota"]) for e in files["base"]
    }

    missing = [c for c in told["comparisons"] if c["verdict"] == "missing"]
    assert [(f" n={1000 + ROWS - 1} " in c["case"], c["reason"]) for c in missing] == [(True, "not in NEW")], (
        done.stdout
    )
    assert "1 row of base is no longer in the scenarios (axpy/cpu_loop | axpy " in done.stderr

    again = call(
        "compare",
        out / "base.jsonl",
        out / "new.jsonl",
        program=project.root / "build/release/bin/waits",
        env=project.environment,
    )
    assert (again.returncode, again.stdout.split("\n")[1].split()[0]) == (1, "slower"), again.stdout


def test_a_variant_that_does_not_compile(project):
    """Its rows alone: wrong in NEW, without a base in BASE, with the compiler's first error; where no row has a base, nothing was decided."""
    loop, wobble = (project.root / f"impls/axpy/cpu_{name}.c" for name in ("loop", "wobble"))
    error = r"impls/axpy/cpu_loop\.c:\d+:\d+: error: expected expression"
    words = ("--second-stage", "0s", "--repetitions", 9, "--variants")
    loop.write_text(loop.read_text() + "int x = ;\n")
    project.git("commit", "-qam", "one is broken")
    for sides, code, verdict in (
        (("--base", "HEAD~1"), 1, "wrong"),
        (("--base", "HEAD", "--new", "HEAD~1"), 0, "no base"),
    ):
        done = project.ab(*sides, *words, "cpu_*", "--min-effect", "100%")
        assert done.returncode == code, done.stdout + done.stderr
        told = json.loads((project.folder / "c.json").read_text())
        found = [c for c in told["comparisons"] if c["spec"].startswith("axpy/cpu_loop")]
        assert {c["verdict"] for c in found} == {verdict}, done.stdout
        assert re.search(error, found[0]["reason"])
        others = {c["verdict"] for c in told["comparisons"] if c["spec"].startswith("axpy/cpu_wobble")}
        assert others and others <= {"same", "ambiguous", "faster"}, done.stdout
    done = project.ab("--base", "HEAD", "--new", "HEAD~1", *words, "cpu_loop")
    assert done.returncode == 4, done.stdout + done.stderr
    wobble.write_text(wobble.read_text().replace("axpy, cpu_wobble", "axpy, cpu_other"))
    project.git("commit", "-qam", "and one has another's name")
    done = project.ab("--base", "HEAD~1", *words, "cpu_wobble")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "the descriptor is RUNGS_VARIANT(axpy, cpu_other)" in done.stdout


def test_a_commit_that_does_not_compile(project):
    """NEW: the gate fails. BASE: nothing can be compared. Both say why in the words of the compiler, or of CMake."""
    reference, lists = project.root / "reference/axpy.c", project.root / "CMakeLists.txt"
    whole = reference.read_text()
    reference.write_text(whole + "int x = ;\n")
    project.git("commit", "-qam", "broken")
    error = r"\S+/reference/axpy\.c:\d+:\d+: error: expected expression[^\n]*"
    for words, code, side in ((("--base", "HEAD~1"), 1, "NEW"), (("--base", "HEAD", "--new", "HEAD~1"), 4, "BASE")):
        project.refused(words, code, side, error)
    reference.write_text(whole)
    lists.write_text('message(FATAL_ERROR "no such luck")\n' + lists.read_text())
    project.git("commit", "-q", "--amend", "-am", "broken")
    project.refused(("--base", "HEAD~1"), 1, "NEW", r"CMake Error at CMakeLists\.txt:1 \(message\): no such luck")


SLOW, NO_ROW, NO_BUILD = 11, 8, 12  # of 16 commits


def test_bisect(project):
    """A real history: the commit that is 1.3 times slower is named, past one that does not build and one without the row."""
    loop, lists = project.root / "impls/axpy/cpu_loop.c", project.root / "CMakeLists.txt"
    whole = lists.read_text()
    good = project.git("rev-parse", "HEAD")
    for k in range(17):
        factor = 1.3 if k >= SLOW else 1.0
        where = {"counter": f"/dev/shm/{project.folder.name}-bisect", "common": "1, 1", "wobble": "1, 1, 1, 1"}
        text = VARIANT.format(**where, planted=PLANTED, factor=factor, name="cpu_loop") + f"/* {k} */\n"
        loop.write_text(text + "int x = ;\n" * (k == NO_ROW))
        lists.write_text('message(FATAL_ERROR "no such luck")\n' * (k == NO_BUILD) + whole)
        (project.root / "scenarios/waits.yaml").write_text(SCENARIO.format(sizes=f"1000, {PLANTED}"))
        project.git("commit", "-qam", f"change {k}")
        good = project.git("rev-parse", "HEAD") if k == 0 else good

    places = (project.folder / f"bisect-{k}" for k in range(100))

    def bisect(*words):
        options = ("waits", "--quick", "--variants", "cpu_loop", "--out", next(places))
        where = {"program": project.root / "build/release/bin/waits", "env": project.environment, "timeout": 580}
        return call("bisect", *words, *options, **where)

    done = bisect(good, "HEAD")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(
        rf"made slower by this commit \((9[5-9]|100)[.\d]*%\):\n +[\d.]+%  [0-9a-f]{{12}}  change {SLOW}\n", done.stdout
    ), done.stdout + done.stderr
    assert f"n={PLANTED} " in done.stdout and re.search(r"hot .*: [+x]?(1\.[23]|[23]\d)", done.stdout), done.stdout
    assert "is left out: it has no times of the row" in done.stderr, done.stderr
    done = bisect(good, "HEAD", "--budget", "1s")
    assert done.returncode == 3 and "not sure (the budget is spent)" in done.stdout, done.stdout + done.stderr
    for words, code, error in (
        (("HEAD", good), 2, "is no earlier commit on the line of"),
        ((good, good), 2, "is no earlier commit on the line of"),
        ((good, "nothing"), 2, "'nothing' is not a commit of this repository"),
        ((good, f"HEAD~{16 - NO_BUILD}"), 4, "does not compile"),
        ((f"HEAD~{16 - SLOW - 2}", "HEAD"), 3, "there is nothing to find"),
    ):
        done = bisect(*words)
        assert done.returncode == code and error in done.stdout + done.stderr, done.stdout + done.stderr


def test_a_commit_that_does_not_start(project):
    reference = project.root / "reference/axpy.c"
    reference.write_text(
        reference.read_text() + "__attribute__((constructor)) static void trap(void) { __builtin_trap(); }\n"
    )
    project.git("commit", "-qam", "broken")
    for words, code, side in ((("--base", "HEAD~1"), 1, "NEW"), (("--base", "HEAD", "--new", "HEAD~1"), 4, "BASE")):
        done = project.ab(*words)
        assert done.returncode == code, done.stdout + done.stderr
        assert re.search(rf"\nrungs: {side} does not start: .*exit code 132", done.stderr)


def test_a_mode_that_is_taken_out(project):
    """Of one row, which stays with its other mode; and of none, where another file times the same row in it."""
    path = project.root / "scenarios/waits.yaml"
    path.write_text(
        SCENARIO.format(sizes="1000").replace("[cpu_wobble], modes: [hot]", "[cpu_wobble], modes: [cold, hot]")
    )
    project.git("commit", "-qam", "two modes")
    path.write_text(SCENARIO.format(sizes="1000").replace("[cpu_wobble], modes: [hot]", "[cpu_wobble], modes: [cold]"))
    project.git("commit", "-qam", "one mode")
    words = ("--second-stage", "0s", "--repetitions", 9)
    done = project.ab("--base", "HEAD~1", *words, "--out", project.folder / "modes")
    assert done.returncode == 1, done.stdout + done.stderr
    told = json.loads((project.folder / "c.json").read_text())
    assert [(c["spec"], c["mode"], c["reason"]) for c in told["comparisons"] if c["verdict"] == "missing"] == [
        ("axpy/cpu_wobble", "hot", "not timed in NEW")
    ], done.stdout
    assert {(c["base_processes"], c["randomised"]) for c in told["comparisons"] if c["verdict"] != "missing"} == {
        (9, True)
    }, done.stdout
    assert "1 row of base is no longer timed in all of their modes (axpy/cpu_wobble | axpy " in done.stderr

    path.write_text(
        path.read_text()
        + "  - {op: axpy, axes: {dtype: [f64], n: [2000], input: [uniform]}, variants: [cpu_wobble], modes: [hot]}\n"
    )
    project.git("commit", "-q", "--amend", "-am", "in two suites")
    done = project.ab("--base", "HEAD~1", *words)
    assert "no longer" not in done.stderr
    told = json.loads((project.folder / "c.json").read_text())
    assert not [c for c in told["comparisons"] if c["verdict"] == "missing"], done.stdout


def test_a_program_that_knows_nothing_of_it(project):
    """BASE given as a program that drops its environment and whose lines lack every fact of today: gated all the same, and what it lacks is said."""
    program, old = project.root / "build/release/bin/waits", project.folder / "old"
    old.write_text(f"""#!/bin/sh
if [ "$2" = --help ]; then exec {program} "$@"; fi
for word; do if [ "$before" = --out ]; then out=$word; fi; before=$word; done
env -i PATH="$PATH" HOME=/ OMP_WAIT_POLICY=passive RUNGS_PYTHON={sys.executable} {program} "$@"
code=$?
rows=$(sed -E 's/,"cpus":"[^"]*","cpu_quota":[^,}}]*(}},"others)/\\1/; s/"threads":[0-9]+,"code"/"code"/' "$out") # a file without a name
printf '%s\\n' "$rows" >"$out"
exit $code
""")
    old.chmod(0o755)
    project.environment["OMP_WAIT_POLICY"] = "passive"  # a variable that counts
    done = project.ab(old, program, "--second-stage", "0s", "--repetitions", 9, "--variants", "cpu_loop")
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads((project.folder / "c.json").read_text())
    assert {(c["randomised"], c["verdict"] in ("same", "ambiguous")) for c in told["comparisons"]} == {(True, True)}, (
        done.stdout
    )
    assert re.search(r"not recorded by an older program and assumed equal: threads used of BASE", done.stdout), (
        done.stdout
    )


@pytest.mark.skipif(not FULL, reason="builds a whole program: with --full")
def test_a_commit_of_before(project):
    """The real program of a commit that knows nothing of the stamp, as BASE of the one under test."""
    if subprocess.run(["git", "-C", SOURCE, "cat-file", "-e", f"{OLD}^{{commit}}"], capture_output=True).returncode:
        pytest.skip(f"this clone does not hold {OLD}")
    made = subprocess.run(
        [SOURCE / "cmake/build_ref.sh", SOURCE, "rungs", OLD, f"{BUILD}/ab/builds", BUILD],
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stdout + made.stderr
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
        project.folder / "old",
        "--json",
        project.folder / "c.json",
        timeout=600,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    told = json.loads((project.folder / "c.json").read_text())
    timed = [c for c in told["comparisons"] if c["mode"]]
    assert {(c["randomised"], c["base_processes"], c["new_processes"]) for c in timed} == {(True, 9, 9)}, done.stdout
    assert not told["not_in_turns"]
    assert {line["ab"]["side"] for line in rows_of(project.folder / "old/base.jsonl", "environment")} == {"base"}
