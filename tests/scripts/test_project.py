"""A project of one's own, as docs/YOUR_KERNELS.md says: built against an installed prefix that has been moved, in another folder, with the
harness's sources out of sight. Its gate fails where an op was made wrong, and for that reason; what is wrong with a project is told in one line.
RUNGS_TEST_FULL=1 also builds two commits with `ab --base`, a copy of this repository with one op left, the packages and the wheel."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import pytest

import updated_arrays
from program import BUILD, CONFIGURED, EMULATOR, FULL, RELEASE, SANITIZED, SOURCE
from program import call, expect, expect_error, needs_release, rows_of
from workflow_steps import BASH

pytestmark = pytest.mark.skipif(SANITIZED, reason="a project would have to be built with the same sanitizers")
only_full = pytest.mark.skipif(not FULL, reason="builds another program: with --full")
PAGE = (SOURCE / "docs/YOUR_KERNELS.md").read_text()
# A variant that calls a function which the op's variants share.
HELPED = """#include "variant.h"

double helped(double a, double x, double y);

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return args->problem->dtype == DTYPE_F64 || variant_refuse(reason, "f64 only");
}

static Status run(const VariantArgs *args) {
    const double a = params_real(&args->problem->params, "a"), *x = args->in[0].data, *y = args->in[1].data;
    double *z = args->out[0].data;
    for (size_t i = 0; i < array_count(&args->out[0]); i++) z[i] = helped(a, x[i], y[i]);
    return STATUS_OK;
}

RUNGS_VARIANT(axpy, cpu_helped) = {.backend = BACKEND_CPU, .summary = "a call for each element", .origin = "a test", .supports = supports, .run = run};
"""
SHARED = (
    "double helped(double a, double x, double y);\ndouble helped(double a, double x, double y) { return a * x + y; }\n"
)
QUICK = ("--quick", "--no-ceilings", "--no-counts")
BUILD_SECONDS = 900
needs_emulator = pytest.mark.skipif(not EMULATOR, reason="this build has no emulator")


def hidden(folder):
    """Words before a command: it sees an empty folder in the place of the sources and of this build, if this machine lets us; and the Python
    with the packages, which may lie there."""
    python = folder / "python"
    python.mkdir()
    environment = pathlib.Path(sys.prefix) if sys.prefix != sys.base_prefix else None
    mounts = [f"mount --bind '{environment}' '{python}'"] if environment else []
    mounts += [
        f"mount -t tmpfs none '{place}'"
        for place in (SOURCE, BUILD)
        if place == SOURCE or not BUILD.is_relative_to(SOURCE)
    ]
    words = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", " && ".join([*mounts, 'exec "$@"']), "sh"]
    if subprocess.run([*words, "true"], capture_output=True).returncode:
        print("no mounts on this machine: the sources stay in sight")
        return [], sys.executable
    return words, str(python / "bin/python") if environment else sys.executable


class Project:
    def __init__(self, folder):
        self.folder = folder
        self.prefix = folder / "moved prefix"
        done = subprocess.run(
            ["cmake", "--install", BUILD, "--prefix", folder / "installed"], capture_output=True, text=True
        )
        expect(done.returncode == 0, "the build is installed", done)
        (folder / "installed").rename(self.prefix)
        self.root = folder / "mykernels"
        self.hide, python = hidden(folder)
        self.environment = {
            **os.environ,
            "RUNGS_PYTHON": python,
            "XDG_STATE_HOME": str(folder / "state"),
            "GIT_CONFIG_GLOBAL": "/dev/null",
        }
        for name in ("RUNGS_SOURCE", "RUNGS_BUILD", "RUNGS", "RUNGS_COMMIT"):
            self.environment.pop(name, None)

    def start(self, *words, cwd=None):
        return subprocess.run(
            [*self.hide, *map(str, words)],
            capture_output=True,
            text=True,
            cwd=cwd or self.root,
            env=self.environment,
            timeout=BUILD_SECONDS,
        )

    def rungs(self, *words, cwd=None):
        return self.start(self.prefix / "bin/rungs", *words, cwd=cwd)

    def program(self, *words):
        return self.start(self.root / "build/release/bin/mykernels", *words)

    def build(self):
        done = self.rungs("build")
        expect(done.returncode == 0, "rungs build", done)

    def refused(self, *words):
        """One line."""
        done = self.rungs("build")
        expect_error(done, 2, *words)
        told = [line for line in done.stderr.splitlines() if not line.startswith("rungs build: building ")]
        expect(len(told) == 1, "in one line", done)

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

    def edit(self, path, *change):
        text = (self.root / path).read_text()
        expect(change[0] in text, f"{path} has '{change[0]}'")
        (self.root / path).write_text(text.replace(*change))

    def add_op(self, name):
        """As a copy of axpy."""
        for path in ("reference/axpy.c", "impls/axpy/cpu_loop.c", "scenarios/smoke.yaml"):
            new = self.root / path.replace("axpy", name).replace("smoke", name)
            new.parent.mkdir(exist_ok=True)
            new.write_text((self.root / path).read_text().replace("axpy", name))


@pytest.fixture(scope="module")
def project(shared_folder):
    return Project(shared_folder)


def test_a_prefix_alone(project):
    """Installed, the program finds everything beside itself."""
    done = project.rungs("--version", cwd=project.folder)
    expect(done.returncode == 0 and done.stdout.startswith("rungs "), "an installed program tells its version", done)
    done = project.rungs("list", "scenarios", cwd=project.folder)
    expect("published/rolling" in done.stdout and "smoke/double" in done.stdout, "and has its scenarios", done)
    done = project.rungs("run", "double n=1000 dtype=f64", "--variants", "cpu_loop", *QUICK, cwd=project.folder)
    rows = project.folder / "state/rungs/results"
    expect(
        done.returncode in (0, 3) and len(list(rows.glob("*.jsonl"))) == 1,
        "its rows go to the user's state folder",
        done,
    )
    done = project.rungs("export", "csv", *rows.glob("*.jsonl"), cwd=project.folder)
    expect(done.returncode == 0 and "double/cpu_loop" in done.stdout, "its Python is found", done)
    for path in (project.prefix / "lib/cmake/rungs").iterdir():
        expect(os.fsencode(SOURCE) not in path.read_bytes(), f"{path.name} names no source folder")
    if "RUNGS_CUDA:STRING=ON" not in CONFIGURED:  # nvcc's line tables name files
        expect(os.fsencode(SOURCE) not in (project.prefix / "bin/rungs").read_bytes(), "no source path is compiled in")
    manual, completion = (
        (project.prefix / path).read_text()
        for path in ("share/man/man1/rungs.1", "share/bash-completion/completions/rungs")
    )
    expect(
        all(
            f".SH RUNGS {verb.upper()}" in manual and f"\n    {verb}) words=" in completion
            for verb in ("run", "exec", "ab", "new", "build", "doctor")
        ),
        "the manual page and the completion have the verbs",
    )
    options = re.findall(r"^  (--[a-z-]+)", call("run", "--help").stdout, re.M)
    expect(
        len(options) > 10 and all(option.replace("-", "\\-") in manual and option in completion for option in options),
        "and the options of the help",
    )
    alone = project.folder / "alone"
    alone.mkdir()
    shutil.copy(project.prefix / "bin/rungs", alone)
    expect_error(project.start(alone / "rungs", "list", cwd=alone), 4, "share/rungs", "start it there")


@pytest.mark.parametrize("name", ["cpu_loop.c", pytest.param("cuda_naive.cu", marks=needs_emulator)])
def test_a_file_beside_the_ladder_of_a_prefix(project, name):
    """`rungs try FILE --op OP`: no source folder and no build folder is needed."""
    own = project.folder / f"my own {name}"
    own.write_text((SOURCE / "impls/double" / name).read_text().replace(name.partition(".")[0], "cpu_mine"))
    words = ("--op", "double", "n=1003 dtype=f64", "--variants", "cpu_loop", "--no-sandbox", "--quick", "--emulate")
    done = project.rungs("try", own, *words, cwd=project.folder)
    expect(done.returncode == 0 and "2 passed" in done.stdout, "it is verified beside a variant of the prefix", done)
    own.write_text(own.read_text().replace("return STATUS_OK", "return nowhere"))
    done = project.rungs("try", own, *words, cwd=project.folder)
    expect(done.returncode == 1 and f"{own}:" in done.stderr, "where it does not compile its line is told", done)


@needs_emulator
def test_an_installed_program_looks_for_the_toolkit_where_it_runs(project, monkeypatch):
    words = json.loads((BUILD / "modules/settings.json").read_text())["asan"]["compile"]
    include = project.folder / "cuda/include"
    shutil.copytree(words[words.index("-isystem") + 1], include)
    (include / "planted.h").write_text("#define PLANTED 7\n")
    (project.folder / "planted.cu").write_text("#include <planted.h>\nint main() { return PLANTED; }\n")
    monkeypatch.setitem(project.environment, "CUDA_HOME", str(include.parent))
    done = project.rungs("try", "planted.cu", "--no-sandbox", "--emulator", "address", cwd=project.folder)
    expect(done.returncode == 7, "CUDA_HOME has the headers", done)
    text = (project.prefix / "lib/rungs/modules/settings.json").read_text()
    expect(
        str(include.parent) not in text and words[words.index("-isystem") + 1] not in text,
        "no folder of a toolkit is kept",
    )
    if not pathlib.Path("/usr/local/cuda").exists():
        monkeypatch.setitem(project.environment, "CUDA_HOME", str(project.folder))
        done = project.rungs("try", "planted.cu", "--no-sandbox", cwd=project.folder)
        expect_error(done, 2, "no CUDA toolkit", "CUDA_HOME")


@pytest.fixture(scope="module")
def rows(project):
    """Of a new project, once it is built."""
    compiled = project.prefix / "share/rungs/template/impls/axpy/__pycache__/peer_numpy.pyc"  # pip leaves such
    compiled.parent.mkdir()
    compiled.write_bytes(b"\xa7\r\r\n")
    done = project.rungs("new", "mykernels", "--op", "axpy", cwd=project.folder)
    expect(done.returncode == 0 and not list(project.root.rglob("*.pyc")), "rungs new", done)
    project.git("init", "-q")
    project.add_op("scale")
    for file, text in (("cpu_helped.c", HELPED), ("_shared.c", SHARED)):
        (project.root / "impls/axpy" / file).write_text(text)
    project.git("add", ".")
    project.git("commit", "-q", "-m", "one")
    project.build()
    done = project.program("list", "variants")
    cuda = (
        ["axpy/cuda_naive"]
        if "RUNGS_CUDA:STRING=ON" in CONFIGURED or "RUNGS_CUDA:STRING=EMULATED" in CONFIGURED and EMULATOR
        else []
    )
    found = [line.split()[0] for line in done.stdout.splitlines()]
    expect(
        found == ["axpy/cpu_helped", "axpy/cpu_loop", *cuda, "axpy/peer_numpy", "scale/cpu_loop"],
        "the project's variants and no others",
        done,
    )
    emulate = ["--emulate"] if EMULATOR else []
    rows = project.folder / "rows.jsonl"
    done = project.program("run", "smoke", "scale", *emulate, *QUICK, "--out", rows)
    expect(done.returncode == 0, "a new project verifies", done)
    passed = {row["variant"] for row in rows_of(rows) if row["verdict"] == "pass"}
    expect(
        passed >= {"axpy/cpu_loop", "axpy/peer_numpy", *(cuda if EMULATOR else [])},
        f"every variant passed: {passed}",
        done,
    )
    if RELEASE:
        expect(any(row["timing"] for row in rows_of(rows)), "and is timed")
    done = project.program("export", "csv", rows)
    expect(done.returncode == 0 and "axpy/cpu_loop" in done.stdout, "the readers of rows are the prefix's", done)
    return rows


def codes_of(rows):
    """Variant -> (hash of its machine code, why it has none)."""
    return {
        row["variant"]: (row["code"]["host_hash"], row["code"]["reason"])
        for row in rows_of(rows)
        if row["backend"] == "cpu"
    }


@pytest.fixture(scope="module")
def old(project, rows):
    """The program of a new project, in a checkout of its own: a program compiles the variants of its project."""
    before = project.folder / "before/mykernels"
    shutil.copytree(project.root, before, ignore=shutil.ignore_patterns("build"))
    done = project.rungs("build", cwd=before)
    expect(done.returncode == 0, "rungs build, of another checkout", done)
    return before / "build/release/bin/mykernels"


@pytest.fixture(scope="module")
def elsewhere(shared_folder):
    """The hashes of the template's code, in a project of another name and place that was built without installing."""
    folder = shared_folder
    done = call("new", "loose", cwd=folder)
    expect(done.returncode == 0, "rungs new, of a checkout", done)
    command = re.search(r"^next: cd loose && git init && (.*) build &&", done.stdout, re.M)[1]
    done = subprocess.run(
        ["sh", "-c", f"{command} build"], cwd=folder / "loose", capture_output=True, text=True, timeout=BUILD_SECONDS
    )
    expect(done.returncode == 0, "rungs build, of a checkout", done)
    done = call("list", "variants", program=folder / "loose/build/release/bin/loose")
    expect("axpy/cpu_loop" in done.stdout, "and its project lists its variants", done)
    call(
        "run",
        "axpy n=1003",
        "--variants",
        "cpu_*",
        "--verify-only",
        "--out",
        folder / "loose.jsonl",
        program=folder / "loose/build/release/bin/loose",
    )
    return codes_of(folder / "loose.jsonl")


def test_the_program_of_a_build_folder_builds_projects(elsewhere):
    """What it says next after `new` is a command that works."""
    assert "axpy/cpu_loop" in elsewhere


def test_what_a_project_needs_is_made_without_our_variants(folder):
    """By the two commands of cmake/build_project.sh: no module of rungs' own is compiled or installed."""
    script = (SOURCE / "cmake/build_project.sh").read_text()
    target = re.search(r"--target (\w+)", script)[1]
    words = ("ninja", "-C", BUILD, "-t", "inputs", target)
    needed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert "librungs_main.a" in needed and "rungs_modules" not in needed
    words = ("cmake", "--install", BUILD, "--component", re.search(r"--component (\w+)", script)[1], "--prefix", folder)
    subprocess.run(words, check=True, capture_output=True)
    assert (folder / "lib/cmake/rungs/rungs-config.cmake").exists() and not (folder / "lib/rungs/modules").exists()


@pytest.fixture(scope="module")
def wrong(project, rows, old):
    """The project, built again after a commit and with scale made wrong: (the commit of `rows`, what --version said before and says after)."""
    built = project.git("rev-parse", "HEAD")
    project.git("commit", "-q", "--allow-empty", "-m", "two")
    before = project.program("--version").stdout.splitlines()[0]
    project.edit("impls/scale/cpu_loop.c", "a * x[i] + y[i]", "a * x[i] - y[i]")
    project.edit("impls/axpy/cpu_helped.c", "cpu_helped", "cpu_renamed")
    (project.root / "impls/axpy/cpu_helped.c").rename(project.root / "impls/axpy/cpu_renamed.c")
    project.build()
    return built, before, project.program("--version").stdout.splitlines()[0]


def test_the_commit_is_that_of_the_project_when_it_was_built(project, rows, wrong):
    built, before, after = wrong
    environment = rows_of(rows, "environment")[0]
    told = {key: environment[key] for key in ("commit", "dirty", "project")}
    assert told == {"commit": built, "dirty": False, "project": "mykernels"}
    assert before.startswith(f"mykernels (commit {built[:12]}) with rungs "), "a later commit is not of this build"
    assert f"(commit {project.git('rev-parse', 'HEAD')[:12]}, with uncommitted changes)" in after, "built anew it is"


@pytest.fixture(scope="module")
def wrong_rows(project, wrong):
    rows = project.folder / "wrong.jsonl"
    done = project.program("run", "scale", "smoke", "--variants", "cpu_*", *QUICK, "--out", rows)
    expect(done.returncode == 1, "a wrong op fails the run", done)
    failed = {row["variant"]: row["reason"] for row in rows_of(rows) if row["verdict"] == "fail"}
    expect(
        set(failed) == {"scale/cpu_loop"} and re.search(r"z\[\d+\]|tolerance|expected", failed["scale/cpu_loop"]),
        f"the other one passes: {failed}",
    )
    return rows


@needs_release
def test_equal_code_has_an_equal_hash(rows, wrong_rows, elsewhere):
    old_codes, codes = codes_of(rows), codes_of(wrong_rows)
    expect(
        elsewhere["axpy/cpu_loop"] == old_codes["axpy/cpu_loop"] == codes["axpy/cpu_loop"]
        and codes["axpy/cpu_loop"][0],
        f"equal code, equal hash: {codes}",
    )
    expect(
        old_codes["axpy/cpu_helped"] == codes["axpy/cpu_renamed"] != codes["axpy/cpu_loop"],
        f"under another name, too: {old_codes}, {codes}",
    )
    expect(
        old_codes["scale/cpu_loop"] == old_codes["axpy/cpu_loop"] != codes["scale/cpu_loop"],
        f"one line changed: another hash, of this one alone: {codes}",
    )


@needs_release
def test_the_gate_fails_because_scale_is_wrong(project, old, wrong_rows):
    done = project.program(
        "ab",
        old,
        project.root / "build/release/bin/mykernels",
        "scale n=1000 dtype=f64",
        "axpy n=1000 dtype=f64",
        "--variants",
        "cpu_*",
        "--quick",
        "--modes",
        "cold,hot",
        "--repetitions",
        9,
        "--out",
        project.folder / "ab",
        "--json",
        project.folder / "ab.json",
    )
    expect(done.returncode == 1, "the gate fails", done)
    told = json.loads((project.folder / "ab.json").read_text())["comparisons"]
    expect(
        {(c["spec"], c["verdict"]) for c in told}
        == {("scale/cpu_loop", "wrong"), ("axpy/cpu_loop", "same"), ("axpy/cpu_renamed", "same")},
        "because scale is wrong",
        done,
    )
    expect(
        all(
            c["judged_by"] == "code"
            and c["reason"].startswith("renamed from axpy/cpu_helped") == (c["spec"] == "axpy/cpu_renamed")
            for c in told
            if c["verdict"] == "same"
        ),
        "equal code is the same, whatever its time, under another name too",
        done,
    )


@needs_release
def test_the_gate_of_the_workflow(project, old, wrong):
    """Its step, of the workflow that `rungs new` wrote, with programs that are built already in place of a base to build; then its summary. scale is
    no part of it. What is gated has equal code, so that rows may be short here; as they were written they are of 0.1 ms and more."""
    rows = project.folder / "gate.jsonl"
    done = project.program("run", "gate", "--variants", "cpu_*", *QUICK, "--out", rows)
    times = [row["timing"][mode]["median"] for row in rows_of(rows) if row["timing"] for mode in ("cold", "hot")]
    expect(done.returncode == 0 and len(times) >= 4 and min(times) >= 1e-4, f"rows of 0.1 ms and more: {times}", done)
    project.edit("scenarios/gate.yaml", "n: [3000017]", "n: [20011]")
    workflow = pytest.importorskip("ruamel.yaml").YAML(typ="safe").load(project.root / ".github/workflows/rungs.yml")
    steps = {step.get("name"): step for step in workflow["jobs"]["kernels"]["steps"]}
    compare = steps["Compare with the base"]["run"]
    expect("ab --base HEAD^1 gate " in compare, "it compares with the base")
    page = project.folder / "page.md"
    for text in (
        compare.replace(
            "--base HEAD^1", f"{shlex.quote(str(old))} build/release/bin/mykernels --repetitions 9 --quick"
        ),
        steps["Summary"]["run"],
    ):
        done = subprocess.run(
            [*project.hide, *BASH, text],
            cwd=project.root,
            env={**project.environment, **workflow["env"], "GITHUB_STEP_SUMMARY": str(page)},
            capture_output=True,
            text=True,
        )
        expect(done.returncode == 0, "a step of the workflow", done)
    expect(
        "regression gate: passed" in page.read_text() and "axpy/cpu_loop" in page.read_text(),
        f"the job's summary has the table: {page.read_text()}",
    )


@only_full
def test_the_gate_of_commits(project, wrong):
    """With --base the project's commits are built, with the same prefix."""
    project.git("commit", "-q", "-a", "-m", "three")
    done = project.program(
        "ab",
        "--base",
        "HEAD~1",
        "scale n=1000 dtype=f64",
        "--variants",
        "cpu_loop",
        "--quick",
        "--repetitions",
        9,
        "--json",
        project.folder / "base.json",
    )
    expect(done.returncode == 1, "ab --base", done)
    told = json.loads((project.folder / "base.json").read_text())["comparisons"]
    expect({c["verdict"] for c in told} == {"wrong"}, "the new commit is wrong", done)


def block(path, language):
    found = re.search(rf"`{re.escape(path)}`[^`]*?(?:`[^`]*`[^`]*?)*?```{language}\n(.*?)```", PAGE, re.DOTALL)
    expect(found, f"the page shows {path}")
    return found[1]


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
def test_a_library_of_another_build(project, rows, wrong):
    """The page's variants, which call what make built."""
    before = rows
    vendor = project.folder / "vendor"
    shutil.copytree(SOURCE / "examples/library", vendor)
    done = subprocess.run(["make", "-C", vendor], capture_output=True, text=True)
    expect(done.returncode == 0, "make builds the library", done)
    for path, language in (("impls/axpy/cpu_vendor.c", "c"), ("impls/axpy/peer_vendor.py", "python")):
        (project.root / path).write_text(block(path, language))
    lines = re.search(r"```cmake\n(.*?)```", PAGE, re.DOTALL)[1]
    project.edit("CMakeLists.txt", "rungs_add_project(mykernels)", lines)
    project.edit("impls/axpy/_shared.c", "{ return", "{ if (x == 3) return y + 3 * a; return")
    project.build()
    rows = project.folder / "vendor.jsonl"
    done = project.program(
        "run", "axpy n=1003", "axpy n=1003 dtype=f32", "--variants", "*_vendor,cpu_*", *QUICK, "--out", rows
    )
    told = sorted((row["variant"], row["verdict"]) for row in rows_of(rows) if row["variant"].endswith("_vendor"))
    expect(
        told
        == [
            ("axpy/cpu_vendor", "pass"),
            ("axpy/cpu_vendor", "skip"),
            ("axpy/peer_vendor", "pass"),
            ("axpy/peer_vendor", "skip"),
        ],
        f"{told}",
        done,
    )
    if RELEASE:
        old_codes, codes = codes_of(before), codes_of(rows)
        expect(
            codes["axpy/cpu_loop"] == old_codes["axpy/cpu_loop"]
            and codes["axpy/cpu_renamed"][0] not in (None, old_codes["axpy/cpu_helped"][0]),
            f"what variants share changed: another hash of those that call it: {codes}",
        )
        expect(
            codes["axpy/cpu_vendor"] == (None, "calls vendor_daxpy, whose code is not among the project's variants"),
            f"what may change without the variant: no hash: {codes}",
        )
    (project.root / "impls/axpy/cpu_warns.c").write_text(
        block("impls/axpy/cpu_vendor.c", "c")
        .replace("cpu_vendor", "cpu_warns")
        .replace("    return STATUS_OK;", "    int unused;\n    return STATUS_OK;", 1)
    )
    expect_error(project.rungs("build"), 2, "unused variable", "cpu_warns.c")
    project.edit("CMakeLists.txt", "WARNINGS_AS_ERRORS)", ")")
    project.build()


@pytest.mark.parametrize(
    "words, told",
    [
        ("new mykernels", "is not empty"),
        ("new My-Kernels", "a word of a-z"),
        ("new more --op 9", "--op is '9'"),
        ("new", "expected one folder"),
        ("build nowhere", "no such folder"),
    ],
)
def test_bad_words_are_told(project, rows, words, told):
    expect_error(project.rungs(*words.split(), cwd=project.folder), 2, told)


def test_what_is_wrong_with_a_project_is_told_in_one_line(project, rows):
    stray = project.root / "impls/axpi/cpu_loop.c"
    stray.parent.mkdir()
    stray.write_text((project.root / "impls/axpy/cpu_loop.c").read_text().replace("axpy", "axpi"))
    project.refused("impls/axpi: unknown op 'axpi'; did you mean 'axpy'?", "write reference/axpi.c")
    shutil.rmtree(stray.parent)
    second = project.root / "reference/axpy/op.c"
    second.parent.mkdir()
    second.write_text((project.root / "reference/axpy.c").read_text())
    project.refused("reference/axpy/op.c: reference/axpy.c defines the op 'axpy' too: remove one of them")
    shutil.rmtree(second.parent)
    lists = (project.root / "CMakeLists.txt").read_text()
    project.edit("CMakeLists.txt", "find_package(rungs 1.0", "find_package(rungs 9.5")
    project.refused("asks for rungs 9.5", "has 1.0", "change find_package(rungs)")
    (project.root / "CMakeLists.txt").write_text(lists.replace("CXX_STANDARD 20", "CXX_STANDARD 20 WARNING"))
    project.refused("unknown word 'WARNING'")
    (project.root / "CMakeLists.txt").write_text("project(mykernels C CXX)\n")
    project.refused("does not call rungs_add_project", "rungs new")
    (project.root / "CMakeLists.txt").unlink()
    project.refused("has no CMakeLists.txt", "rungs new")
    (project.root / "CMakeLists.txt").write_text(lists)
    shutil.move(project.prefix / "lib/cmake", project.folder / "cmake")
    project.refused("rungs-config.cmake", "not installed", "cmake --install")
    shutil.move(project.folder / "cmake", project.prefix / "lib/cmake")


HALF = '"""y = x / 2"""\n\nINPUTS = {"x": "n"}\nPARAMS = {"n": 1009}\nOUTPUTS = {"y": "n"}\nFAMILIES = ["normal"]\nBOUND = "elementwise"\nDTYPES = ["f64"]\nPRECISION = "float64"\n\n\ndef reference(case, inputs):\n    return inputs["x"] / 2\n'
HALVED = """#include "variant.h"

static Status run(const VariantArgs *args) {
    for (size_t i = 0; i < array_count(&args->in[0]); i++) ((double *)args->out[0].data)[i] = ((const double *)args->in[0].data)[i] / 2;
    return STATUS_OK;
}

RUNGS_VARIANT(half, cpu_loop) = {.backend = BACKEND_CPU, .summary = "a loop", .origin = "a test", .run = run};
"""


TOPK = '''"""the k largest of each row, the largest first, and where they are; ties in any order"""

import numpy

PARAMS = {"rows": 7, "C": 129, "k": (5, 1, 1e3)}
INPUTS = {"x": "rows C"}
OUTPUTS = {"value": "rows k", "index": "rows k i32"}
FAMILIES = ["normal", "integers"]
BOUND = "check"


def first(wrong):
    return tuple(numpy.argwhere(wrong)[0])


def check(case, inputs, outputs):
    x, value, index = inputs["x"], outputs["value"], outputs["index"]
    if (wrong := (index < 0) | (index >= case.C)).any():
        return "index", first(wrong), f"there are {case.C} elements"
    if (wrong := numpy.take_along_axis(x, index.astype(numpy.int64), 1) != value).any():
        return "value", first(wrong), "no element of that index"
    if (wrong := (index[:, :, None] == index[:, None, :]) & ~numpy.tri(case.k, dtype=bool).T).any():
        return "index", first(wrong.any(axis=2)), "given twice"
    if (wrong := value != -numpy.sort(-x)[:, : case.k]).any():
        return "value", first(wrong), "not the next largest"
'''
LARGEST = """#include "variant.h"

static Status run(const VariantArgs *args) {
    const size_t rows = args->in[0].shape[0], C = args->in[0].shape[1], k = args->out[0].shape[1];
    for (size_t row = 0; row < rows; row++) {
        const float *x = (const float *)args->in[0].data + row * C;
        float *value = (float *)args->out[0].data + row * k;
        int *index = (int *)args->out[1].data + row * k;
        for (size_t i = 0; i < k; i++) {
            int best = -1;
            for (int at = 0; at < (int)C; at++) {
                bool taken = false;
                for (size_t j = 0; j < i; j++) taken = taken || index[j] == at;
                if (!taken && (best < 0 || x[at] > x[best])) best = at;
            }
            value[i] = x[best], index[i] = best;
        }
    }
    return STATUS_OK;
}

RUNGS_VARIANT(topk, cpu_NAME) = {.backend = BACKEND_CPU, .summary = "k searches", .origin = "the definition", .run = run};
"""
SEARCHES = {  # (what stands in it, what else stands there, what is said of it; None: it passes)
    "first": ("x[at] > x[best]", "x[at] > x[best]", None),
    "last": ("x[at] > x[best]", "x[at] >= x[best]", None),
    "twice": ("index[j] == at", "index[j] == at + 1000", "index[0, 1] is "),
    "smallest": ("x[at] > x[best]", "x[at] < x[best]", ": not the next largest"),
    "beyond": ("index[i] = best;", "index[i] = best + (row == 3 && i == 2 ? 129 : 0);", "index[3, 2] is "),
    "unwritten": ("size_t i = 0; i < k; i++", "size_t i = 0; i < k - 1; i++", "index[0, 4] is "),
}


@needs_emulator
def test_examples_llm(project):
    """A project whose references are in Python: its kernels pass, a wrong reference fails them at once, and float64 is said."""
    root = project.folder / "llm"
    shutil.copytree(SOURCE / "examples/llm", root)
    (root / "reference/half.py").write_text(HALF.replace('"n": 1009', '"m": 1009'))
    (root / "impls/half").mkdir()
    (root / "impls/half/cpu_loop.c").write_text(HALVED)
    (root / "reference/topk.py").write_text(TOPK)
    (root / "impls/topk").mkdir()
    for name, (old, new, _) in SEARCHES.items():
        (root / f"impls/topk/cpu_{name}.c").write_text(LARGEST.replace("NAME", name).replace(old, new))
    expect_error(project.rungs("build", root), 2, "reference/half.py: 'n': there is no parameter n; there is m")
    (root / "reference/half.py").write_text(HALF)
    done = project.rungs("build", root)
    expect(done.returncode == 0, "rungs build", done)

    def run(*words):
        out = root / "rows.jsonl"
        out.unlink(missing_ok=True)
        done = project.start(
            root / "build/release/bin/llm", "run", *words, "--verify-only", "--emulate", "--no-ceilings", "--out", out
        )
        return done, rows_of(out)

    done, found = run("smoke")
    expect(done.returncode == 0 and len(found) >= 30, "the kernels of examples/llm pass", done)
    expect({row["verdict"] for row in found} == {"pass"}, "all of them", done)
    expect({row["bound"]["name"] for row in found} == {"reduction", "softmax", "dot"}, "under their bounds", done)
    done = project.start(root / "build/release/bin/llm", "sharpness", "sgemm m=32 n=32 k=4099 input=normal", "--json")
    shares = json.loads(done.stdout)["rejecting_share"]
    expect(
        min(shares[cut] for cut in ("TF32 cut", "bf16", "bf16 sums")) > 0,
        "long products reject cuts of precision",
        done,
    )
    found = run("half n=1009")[1]
    expect(
        [row["bound"]["reference"] for row in found] == ["float64"] and found[0]["verdict"] == "pass", "float64 is said"
    )
    done, found = run("topk input=integers")
    for row in found:
        said = SEARCHES[row["variant"].removeprefix("topk/cpu_")][2]
        expect(
            (row["verdict"], said is None) in (("pass", True), ("fail", False)),
            f"check() judges {row['variant']}",
            done,
        )
        expect((said or "") in (row["reason"] or ""), f"{said}: {row['reason']}")
    assert len(found) == len(SEARCHES)
    out = root / "timed.jsonl"
    words = ("run", "topk rows=1009", "--variants", "cpu_first", "--quick", "--no-ceilings", "--out", out)
    done = project.start(root / "build/release/bin/llm", *words)
    expect(rows_of(out)[0]["timing"]["hot"]["median"] > 0, "timed calls are judged, too", done)
    done = project.start(root / "build/release/bin/llm", "sharpness", "topk rows=7")
    expect_error(done, 4, "judged by check()")
    path = root / "reference/softmax.py"
    path.write_text(path.read_text().replace("powers / powers.sum", "powers / powers[:, 1:].sum"))
    done, found = run("softmax rows=3 C=40", "--variants", "cuda_thread_row")
    expect(done.returncode == 1 and found[0]["verdict"] == "fail", "a reference is read when it is needed", done)
    path.write_text(path.read_text().replace("numpy.exp", "numpy.arctan"))
    found = run("softmax rows=3 C=40", "--variants", "cuda_thread_row")[1]
    expect("reference/softmax.py:16: TypeError: numpy.arctan has no rule" in found[0]["reason"], found[0]["reason"])


@needs_release
@needs_emulator
def test_arrays_updated_in_place(project):
    """An output of an input's name: restored before each call, with copies for calls back to back, in `run`, `try`, `score` and `exec`."""
    root = project.folder / "updates"
    done = project.rungs("new", root, "--op", "axpy", cwd=project.folder)
    expect(done.returncode == 0, "rungs new", done)
    updated_arrays.write(root)
    done = project.rungs("build", root)
    expect(done.returncode == 0, "rungs build", done)
    program = root / "build/release/bin/updates"
    for op in ("updated", "updated_c"):
        out = root / f"{op}.jsonl"
        words = ("run", f"{op} n=1009 dtype=f64", "--quick", "--emulate", "--no-ceilings", "--out", out)
        done = project.start(program, *words)
        found = {row["variant"].split("/")[1]: row for row in rows_of(out)}
        for name, (_, _, said) in updated_arrays.WRONG.items():
            row = found[f"cpu_{name}"]
            expect(
                (row["verdict"] == "pass") == (said is None) and (said or "") in (row["reason"] or ""),
                f"{name}: {row['reason']}",
                done,
            )
        expect(found["cuda_naive"]["verdict"] == found["peer_numpy"]["verdict"] == "pass", "a kernel and NumPy", done)
        expect(found["cpu_loop"]["timing"]["hot"]["calls_per_sample"] > 1, "calls back to back have copies", done)
    launch = ("--launch", "update<<<ceil(n/256), 256>>>(n, a, x, y)", "--emulate", "--verify-only", "--no-sandbox")
    done = project.start(program, "try", root / "update.cu", "--op", "updated", "n=1009 dtype=f32", *launch)
    expect(done.returncode == 0 and re.search("pass +updated/try_update", done.stderr), "a file that is bound", done)
    done = project.start(
        program,
        "score",
        root / "impls/updated_c/cpu_loop.c",
        root / "impls/updated_c/cpu_twice.c",
        "--op",
        "updated_c",
        "--over",
        "cpu_loop",
        "n=10007 dtype=f64",
        "--quick",
        "--no-sandbox",
    )
    expect([line.split()[0] for line in done.stdout.splitlines()] == ["pass", "fail"], "scores", done)


def kept_options():
    """What another build of this source shares with this one."""
    return re.findall(
        r"^(CMAKE_C(?:XX)?_COMPILER_LAUNCHER|CMAKE_EXE_LINKER_FLAGS|RUNGS_CPU_ARCHITECTURE):\w+=(.+)$", CONFIGURED, re.M
    )


@only_full
def test_one_op_left(folder):
    """A copy of this repository with `double` alone: it builds, and its tests pass: of units, and of the harness without regard to ops."""
    tree = folder / "stripped"
    subprocess.run(["git", "-c", "safe.directory=*", "clone", "-q", "--no-hardlinks", SOURCE, tree], check=True)
    kept = {"double", "common"}
    for place in ("impls", "tests/mutants", "tests/regression", "tests/faults/impls"):
        for path in (tree / place).iterdir():
            if path.is_dir() and path.name not in kept:
                shutil.rmtree(path)
    for path in (tree / "reference").iterdir():
        if path.is_dir():
            shutil.rmtree(path)
    for path in (tree / "scenarios").rglob("*.yaml"):
        if re.search(r"op: (?!double)", path.read_text()):
            path.unlink()
    build = tree / "build/cpu"
    for words in (
        [
            "cmake",
            "-G",
            "Ninja",
            "-S",
            tree,
            "-B",
            build,
            "-DCMAKE_BUILD_TYPE=Release",
            "-DRUNGS_CUDA=OFF",
            "-DRUNGS_EMULATOR=OFF",
            *(f"-D{name}={value}" for name, value in kept_options()),
        ],
        ["cmake", "--build", build, "--target", "rungs", "unit_tests"],
        [
            "ctest",
            "--test-dir",
            build,
            "-R",
            r"^unit|^script\.test_(layers|places|registry|start)$",
            "--no-tests=error",
        ],
        [build / "bin/rungs", "run", "smoke", *QUICK, "--variants", "cpu_*"],
    ):
        done = subprocess.run(
            list(map(str, words)),
            capture_output=True,
            text=True,
            timeout=BUILD_SECONDS,
            env={**os.environ, "RUNGS_PYTHON": sys.executable},
        )
        expect(done.returncode == 0, f"one op left: {pathlib.Path(words[0]).name} {words[1]}", done)
    expect(
        "test_case" in subprocess.run(["ctest", "--test-dir", build, "-N"], capture_output=True, text=True).stdout,
        "the harness's tests are there",
    )


@only_full
def test_packages(folder):
    done = subprocess.run(
        ["cpack", "--config", BUILD / "CPackConfig.cmake", "-B", folder / "packages"],
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS,
    )
    expect(done.returncode == 0, "cpack", done)
    found = {path.name.rsplit(".", 1)[-1]: path for path in (folder / "packages").iterdir() if path.is_file()}
    expect({"deb", "gz"} <= set(found), f"packages: {found}")
    told = subprocess.run(["dpkg-deb", "--contents", found["deb"]], capture_output=True, text=True).stdout
    expect(
        "./usr/bin/rungs" in told and "/share/rungs/analysis/" in told and "rungs-config.cmake" in told,
        "the .deb has what the prefix has",
    )


@only_full
def test_a_wheel(folder):
    """pip builds the prefix and installs it into an environment, where it runs and builds projects. The version is CMake's."""
    tree, environment = folder / "checkout", folder / "environment"
    subprocess.run(["git", "-c", "safe.directory=*", "clone", "-q", "--no-hardlinks", SOURCE, tree], check=True)
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    pip = [environment / "bin/python", "-m", "pip", "--disable-pip-version-check"]
    options = [
        f"-Ccmake.define.{name}={value}"
        for name, value in [("RUNGS_CUDA", "OFF"), ("RUNGS_EMULATOR", "OFF"), *kept_options()]
    ]
    done = subprocess.run(
        [*pip, "wheel", "--no-deps", "-w", folder, *options, tree],
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS,
    )
    if "No matching distribution found for scikit-build-core" in done.stdout + done.stderr:
        pytest.skip("pip does not reach scikit-build-core, which builds the wheel")
    expect(done.returncode == 0, "pip wheel", done)
    version = re.search(r"project\(rungs VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text())[1]
    found = list(folder.glob("rungs-*.whl"))
    expect(len(found) == 1 and found[0].name.startswith(f"rungs-{version}-py3-none-"), f"a wheel of {version}: {found}")
    subprocess.run([*pip, "install", "-q", "--no-index", found[0]], check=True)
    shutil.rmtree(tree)
    rungs = environment / "bin/rungs"
    known = {
        key: value
        for key, value in os.environ.items()
        if key not in ("RUNGS_SOURCE", "RUNGS_BUILD", "RUNGS", "RUNGS_PYTHON", "RUNGS_COMMIT")
    }
    known |= {"XDG_STATE_HOME": str(folder / "wheel state"), "PATH": f"{rungs.parent}:{known['PATH']}"}
    for words in (["list"], ["run", "double n=1000", "--quick"], ["new", "piped"], ["build", "piped"]):
        done = subprocess.run(
            ["rungs", *words], cwd=folder, env=known, capture_output=True, text=True, timeout=BUILD_SECONDS
        )
        expect(done.returncode == 0, f"installed by pip: rungs {' '.join(words)}", done)
    done = call(
        "run", "smoke", "--quick", "--variants", "cpu_*", program=folder / "piped/build/release/bin/piped", env=known
    )
    expect(done.returncode == 0, "and the project runs", done)
