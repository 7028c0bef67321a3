"""The workflows under .github: valid by GitHub's schema, careful with what strangers may write, and every step that runs a command is executed in
a clean clone as a runner would. Three things stand in there: ./rungs goes on to the program that is being tested, with a small case in place of
the published ones and two programs of known speed in place of two builds; apt-get only takes notes; HOME is a folder of its own."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import pytest
from program import RELEASE, RUNGS, SOURCE, call
from stand_in import stand_in
from workflow_steps import BASH, RUNS_AFTER, execute

pytest.importorskip("check_jsonschema")
ruamel = pytest.importorskip("ruamel.yaml")

FOLDER = SOURCE / ".github/workflows"
WORKFLOWS = {path.name: ruamel.YAML(typ="safe").load(path) for path in sorted(FOLDER.glob("*.yml"))}
PRESETS = {preset["name"] for preset in json.loads((SOURCE / "CMakePresets.json").read_text())["configurePresets"]}
# Expressions in the env of jobs and steps, and their values in a run by hand; then those that name groups of runs, and guards.
PREPARED = {"What this machine can do": 0, "Idle, and clocks locked where this runner may": 0}
BY_HAND = {
    "github.event_name": "workflow_dispatch",
    "inputs.base": "",
    "github.event.repository.default_branch": "main",
    "inputs.budget || '30m'": "30m",
    "github.run_id": "1001",
    "needs.compare.result": "success",
    "github.ref_name": "v1.0.0",
    "github.token": "a token",
    "matrix.kind": "deb",
}
GROUPS = {"github.ref", "github.event.pull_request.number || github.run_id"}
NOT_OF_STRANGERS = (
    "github.event_name != 'pull_request' || github.event.pull_request.head.repo.full_name == github.repository"
)
OF_A_TAG = "startsWith(github.ref, 'refs/tags/')"
RUNGS_STAND_IN = """#!/usr/bin/env bash
set -euo pipefail
printf '%s\\n' "$*" >>"$TEST_DIARY"
case $1 in
test) ;; # we are in it
ab)
    [ "$2" = --base ]
    git rev-parse --verify --quiet --end-of-options "$3^{{commit}}" >>"$TEST_DIARY"
    exec {rungs} ab "$TEST_PROGRAMS/base" "$TEST_PROGRAMS/new" "${{@:4}}" ;;
reproduce) exec {rungs} "$@" 'double n=1000' ;;
doctor) # what allows the sandbox was played, too
    {rungs} "$@"
    echo 'ok  sandbox' ;;
*) exec {rungs} "$@" ;;
esac
"""


def steps_of(workflow):
    for name, job in workflow["jobs"].items():
        for step in job["steps"]:
            yield name, job, step


def check(schema, *paths):
    return subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *map(str, paths)],
        capture_output=True,
        text=True,
    )


def test_schema():
    assert sorted(WORKFLOWS) == ["ci.yml", "gpu-regression.yml", "publish.yml", "release.yml"]
    with tempfile.TemporaryDirectory() as folder:
        for schema, fault in (
            ("vendor.github-workflows", ("runs-on:", "run-on:")),
            ("custom.github-workflows-require-timeout", ("timeout-minutes: 60", "name: x")),
        ):
            done = check(schema, *FOLDER.glob("*.yml"), SOURCE / "template/.github/workflows/rungs.yml")
            assert done.returncode == 0, done.stdout
            planted = pathlib.Path(folder) / "planted.yml"
            planted.write_text((FOLDER / "ci.yml").read_text().replace(*fault))
            assert check(schema, planted).returncode != 0, f"{schema} does not notice {fault}"


def test_care():
    """What a pull request can name never becomes part of a command; tokens read only; actions have versions."""
    for file, workflow in WORKFLOWS.items():
        assert workflow["permissions"] == {"contents": "read"}, file
        assert workflow["defaults"]["run"]["shell"] == "bash", "which stops at the first failure, in pipes too"
        for name, job, step in steps_of(workflow):
            assert "${{" not in step.get("run", ""), f"{file}: {name}: hand it over in env"
            if "uses" in step:
                assert re.search(r"^actions/[a-z-]+@[0-9a-f]{40}$", step["uses"]), "a tag can be moved"
            if step.get("uses", "").startswith("actions/checkout"):
                assert step["with"]["persist-credentials"] is False, "what is built could read them"
            if "permissions" in job:
                runs = [one["run"] for one in job["steps"] if "run" in one]
                assert (file, name, job["permissions"]) == ("release.yml", "release", {"contents": "write"})
                assert job["if"] == OF_A_TAG and "pull_request" not in workflow["on"]
                assert all(re.match(r"\.ci/package --notes|gh ", line) for one in runs for line in one.splitlines())
            if "self-hosted" in job["runs-on"] and "pull_request" in workflow["on"]:
                assert job["if"] == NOT_OF_STRANGERS


def test_expressions():
    """GitHub takes a name that no event has for ''. So every expression is one of those that were looked up in its documentation."""
    text = "".join((FOLDER / file).read_text() for file in WORKFLOWS)
    found = re.findall(r"\$\{\{ (.*?) \}\}", text)
    assert set(found) == set(BY_HAND) | GROUPS | {"!cancelled()"}
    assert len(found) == text.count("${{"), "none is overlooked"
    guards = {
        holder["if"]
        for workflow in WORKFLOWS.values()
        for name, job, step in steps_of(workflow)
        for holder in (job, step)
        if "if" in holder
    }
    assert guards == {NOT_OF_STRANGERS, OF_A_TAG, *(when for when in RUNS_AFTER if when)}


def test_what_is_named_exists():
    """Scripts, verbs, their options, scenarios, presets."""
    assert {job["env"]["RUNGS_PRESET"] for job in WORKFLOWS["ci.yml"]["jobs"].values() if "env" in job} <= PRESETS
    for file, workflow in WORKFLOWS.items():
        for scenario in workflow.get("env", {}).get("SCENARIOS", "").split():
            assert (SOURCE / f"scenarios/{scenario}.yaml").exists(), scenario
        for name, _, step in steps_of(workflow):
            text = re.sub(
                r"^.*\b(git|apt-get|sed|head|docker|gh|package) .*$", "", step.get("run", ""), flags=re.MULTILINE
            )
            for script in re.findall(r"(?<!\S)(?:\./|\.ci/)[\w/-]+", step.get("run", "")):
                assert os.access(SOURCE / script, os.X_OK), f"{file}: {name}: {script}"
            verbs = set(re.findall(r"\./rungs ([\w-]+)", text))
            known = {verb: call(verb, "--help").stdout for verb in verbs}
            for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", text):
                assert any(re.search(rf"{option}\b", told) for told in known.values()), (
                    f"{file}: {name}: {option} of {verbs}"
                )
            for verb, told in known.items():
                assert told.startswith(f"usage: rungs {verb}"), f"{file}: {name}: {verb}"


@pytest.mark.skipif(
    not shutil.which("actionlint"),
    reason="actionlint is not installed: types, contexts and functions of expressions are not checked",
)
def test_actionlint():
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "actionlint.yaml"
        config.write_text("self-hosted-runner:\n  labels: [gpu]\n")
        done = subprocess.run(
            ["actionlint", "-no-color", "-config-file", config, *FOLDER.glob("*.yml")],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_strangers_are_not_run_and_do_not_pass():
    """On the GPU runner: a pull request of our own and runs by hand, never a fork. The required check passes for what was compared and good,
    and for nothing else."""
    compare, gate = (
        WORKFLOWS["gpu-regression.yml"]["jobs"]["compare"],
        WORKFLOWS["gpu-regression.yml"]["jobs"]["gate"],
    )
    assert compare["if"] == NOT_OF_STRANGERS
    assert (gate["needs"], gate["if"]) == ("compare", "always()"), "it is never skipped itself"
    assert "self-hosted" not in gate["runs-on"]
    assert not [step for step in gate["steps"] if "uses" in step], "it runs nothing of the change"
    assert gate["steps"][0]["env"] == {"RESULT": "${{ needs.compare.result }}"}
    for result in ("success", "failure", "skipped", "cancelled"):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            done = subprocess.run(
                [*BASH, gate["steps"][0]["run"]],
                capture_output=True,
                text=True,
                env={**os.environ, "RESULT": result, "GITHUB_STEP_SUMMARY": str(page)},
            )
            assert (done.returncode == 0) == (result == "success"), (result, done.stdout)
            assert page.exists() == (result == "skipped")


def test_jobs_that_wait_are_not_lost():
    """Of a concurrency group GitHub keeps one run that waits and cancels the others: so no two pull requests may share one, nor runs by
    hand. That only one measures at a time is for the lock on the runner."""
    assert WORKFLOWS["gpu-regression.yml"]["concurrency"] == {
        "group": "gpu-regression-${{ github.event.pull_request.number || github.run_id }}",
        "cancel-in-progress": True,
    }
    assert "concurrency" not in WORKFLOWS["publish.yml"]


def test_one_measures_at_a_time():
    """And who builds does not wait: every job that measures has built before it takes the lock, or lets `ab` take it."""
    locks = {WORKFLOWS[file]["env"]["LOCK"] for file in ("gpu-regression.yml", "publish.yml")}
    assert len(locks) == 1
    measuring = 0
    for workflow in WORKFLOWS.values():
        built = set()
        for name, job, step in steps_of(workflow):
            text = step.get("run", "")
            for line in re.findall(r".*\./rungs (?:ab|reproduce|run|calibrate)\b.*", text):
                assert name in built
                if "./rungs ab" in line:
                    assert '--lock "$LOCK"' in text
                    assert "flock" not in text
                else:
                    assert re.search(r'^\s*flock "\$LOCK" \./rungs ', line)
                measuring += 1
            if "./rungs doctor" in text:
                built.add(name)
    assert measuring == 2


def test_the_summary_ends_before_a_section_of_the_report():
    heading = re.search(r"sed '/\^(## [^/]+)/,\$d'", (FOLDER / "publish.yml").read_text())[1]
    assert f"\n{heading}\n" in (SOURCE / "analysis/report/report.md").read_text(), heading


def test_nothing_is_left_among_the_sources():
    """What steps write lies in build/: rows beside the sources would be taken for changes, and stay there with `clean: false`."""
    for file in ("gpu-regression.yml", "publish.yml"):
        for _, _, step in steps_of(WORKFLOWS[file]):
            for path in re.findall(r"--(?:out|figures|markdown|json|junit) \"?(\S+)", step.get("run", "")):
                assert path.startswith("build/"), path
            if "upload-artifact" in step.get("uses", ""):
                assert step["with"]["path"].startswith("build/")
    assert "/build/" in (SOURCE / ".gitignore").read_text().split()


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
def test_shell():
    for file, workflow in WORKFLOWS.items():
        for name, _, step in steps_of(workflow):
            if "run" in step:
                done = subprocess.run(
                    ["shellcheck", "--shell=bash", "-"], input=step["run"], capture_output=True, text=True
                )
                assert done.returncode == 0, f"{file}: {name}\n{done.stdout}"


needs_clone = pytest.mark.skipif(
    not RELEASE or not (SOURCE / ".git").exists(), reason="takes times and a clone: a release build in a repository"
)


class Steps:
    def __init__(self, folder):
        self.folder = folder
        self.clone, self.diary, self.page = self.folder / "clone", self.folder / "diary", self.folder / "page.md"
        subprocess.run(
            ["git", "-c", "safe.directory=*", "clone", "-q", "--no-hardlinks", SOURCE, self.clone], check=True
        )
        shutil.rmtree(self.clone / ".github", ignore_errors=True)
        shutil.copytree(SOURCE / ".github", self.clone / ".github")
        (self.folder / "tools").mkdir()
        self.script(self.clone / "rungs", RUNGS_STAND_IN.format(rungs=RUNGS))
        self.script(self.folder / "tools/sudo", "#!/bin/sh\n")
        self.script(self.folder / "tools/apt-get", '#!/bin/sh\necho "apt-get $*" >>"$TEST_DIARY"\n')
        inherited = {
            name: value for name, value in os.environ.items() if name != "RUNGS_PRESET"
        }  # a job has it from its own `env` alone
        self.environment = {
            **inherited,
            "TEST_DIARY": str(self.diary),
            "TEST_PROGRAMS": str(self.folder),
            "HOME": str(self.folder),
            "GITHUB_STEP_SUMMARY": str(self.page),
            "PATH": f"{self.folder / 'tools'}:{os.environ['PATH']}",
        }

    @staticmethod
    def script(path, text):
        path.write_text(text)
        path.chmod(0o755)

    def program(self, name, factor):
        stand_in(self.folder / name, self.folder / "programs", factor)

    def execute(self, file, job, **values):
        """Steps that are executed -> exit codes by name."""
        codes, self.output = {}, ""
        for name, codes[name], output in execute(
            WORKFLOWS[file],
            job,
            self.clone,
            self.environment,
            {**BY_HAND, **values},
            {"LOCK": str(self.folder / "lock")},
        ):
            self.output += output
        return codes

    def called(self):
        return self.diary.read_text().splitlines()

    def git(self, *words):
        return subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@t", *words],
            cwd=self.clone,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    def clean(self):
        """Nothing of the job is seen by git: what it measured was a commit without changes."""
        assert self.git("status", "--porcelain", "--", ":!rungs", ":!.github", ":!results") == ""

    def bare_root(self, code):
        self.script(self.clone / "tests/fresh.sh", f'#!/bin/sh\necho fresh >>"$TEST_DIARY"\nexit {code}\n')


@pytest.fixture
def steps(folder):
    return Steps(folder)


@needs_clone
def test_ci_in_place(steps):
    steps.bare_root(77)  # none can be made
    for job in WORKFLOWS["ci.yml"]["jobs"]:
        steps.diary.unlink(missing_ok=True)
        codes = steps.execute("ci.yml", job)
        assert codes and not any(codes.values()), (codes, steps.output)
        assert "test -R . --repeat until-pass:2" in steps.called(), ".ci/run ends in the tests"
        assert ("fresh" in steps.called()) == (job != "cpu-only"), "a preset of its own is tried in place"
        assert any("shellcheck" in line for line in steps.called()) == (job == "debian")


@needs_clone
def test_ci_in_a_bare_root(steps):
    for code in (0, 1):
        steps.diary.unlink(missing_ok=True)
        steps.bare_root(code)
        codes = steps.execute("ci.yml", "ubuntu")
        assert any(codes.values()) == bool(code), (codes, steps.output)
        assert steps.called() == ["fresh"], "the suite ran there, once"


@needs_clone
def test_gate_passes(steps):
    steps.program("base", 1.0)
    steps.program("new", 1.0)
    codes = steps.execute("gpu-regression.yml", "compare", **{"github.event_name": "pull_request"})
    assert codes == {**PREPARED, "Compare": 0, "Clocks as they were": 0, "Summary": 0}, steps.output
    assert steps.git("rev-parse", "HEAD^1") in steps.called()
    assert "regression gate: passed" in steps.page.read_text()
    assert {p.name for p in (steps.clone / "build/gate").iterdir()} == {
        "base.jsonl",
        "new.jsonl",
        "summary.md",
        "junit.xml",
        "comparison.json",
    }
    words = json.loads((steps.folder / "programs").read_text().splitlines()[0])
    for scenario in WORKFLOWS["gpu-regression.yml"]["env"]["SCENARIOS"].split():
        assert str(SOURCE / f"scenarios/{scenario}.yaml") in words, "a scenario that is there"
    steps.clean()


@needs_clone
def test_a_base_that_was_kept_is_not_trusted(steps):
    """For pull requests it is built anew: an earlier one's code could have changed it."""
    steps.script(steps.clone / "rungs", "#!/bin/sh\n")
    (steps.clone / "build/ab/builds").mkdir(parents=True)
    steps.execute("gpu-regression.yml", "compare")
    assert (steps.clone / "build/ab/builds").exists()
    steps.execute("gpu-regression.yml", "compare", **{"github.event_name": "pull_request"})
    assert not (steps.clone / "build/ab").exists()


@needs_clone
def test_a_gpu_in_use(steps):
    """Nothing is measured beside another program; clocks are locked where that is allowed, and given back."""
    smi = steps.folder / "tools/nvidia-smi"
    for apps, lock, code, words in (
        ("", 0, 0, "SM clock locked at 1980 MHz"),
        ("", 4, 0, "SM clock not locked"),
        ("77, train", 0, 1, "in use"),
    ):
        steps.script(
            smi,
            f"""#!/bin/sh
echo "$*" >>"$TEST_DIARY"
case "$*" in
*compute-apps*) printf '%s' '{apps}' ;;
*default_applications*) echo 1980 ;;
*utilization*) echo 0 ;;
*-lgc*) echo told; exit {lock} ;;
esac
""",
        )
        done = subprocess.run([SOURCE / ".ci/steady", "lock"], capture_output=True, text=True, env=steps.environment)
        assert done.returncode == code, done.stderr
        assert words in done.stdout + done.stderr
    subprocess.run([SOURCE / ".ci/steady", "unlock"], check=True, env=steps.environment)
    assert "-i 0 -rgc" in steps.called()
    steps.diary.unlink()
    for word in ("lock", "unlock"):
        subprocess.run([SOURCE / ".ci/steady", word], capture_output=True, env={**steps.environment, "CLOCKS": "keep"})
    assert not any("-lgc" in line or "-rgc" in line for line in steps.called()), "not ours to set"
    steps.script(steps.clone / "rungs", "#!/bin/sh\n")
    codes = steps.execute("gpu-regression.yml", "compare")
    assert "Compare" not in codes
    assert (codes["Idle, and clocks locked where this runner may"], codes["Clocks as they were"]) == (1, 0)


@needs_clone
def test_base_by_hand(steps):
    """A branch of three commits is judged as a whole; the default branch by its last commit; and what is asked for is taken."""
    script = next(
        step["run"]
        for step in WORKFLOWS["gpu-regression.yml"]["jobs"]["compare"]["steps"]
        if step.get("name") == "Compare"
    )
    start = steps.git("rev-parse", "HEAD")
    steps.git("update-ref", "refs/remotes/origin/main", start)
    steps.script(steps.clone / "rungs", '#!/bin/sh\ngit rev-parse "$3" >"$TEST_DIARY"\n')

    def base(**variables):
        env = {
            **steps.environment,
            **WORKFLOWS["gpu-regression.yml"]["env"],
            "EVENT": "workflow_dispatch",
            "BASE": "",
            "DEFAULT_BRANCH": "main",
            **variables,
        }
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", script], cwd=steps.clone, env=env, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return steps.diary.read_text().strip()

    assert base() == steps.git("rev-parse", "HEAD^1")
    for number in range(3):
        steps.git("commit", "-q", "--allow-empty", "-m", f"change {number}")
    assert base() == start
    assert base(BASE="HEAD~2") == steps.git("rev-parse", "HEAD~2")
    assert base(EVENT="pull_request") == steps.git("rev-parse", "HEAD^1")


@needs_clone
def test_gate_fails(steps):
    """A slow-down: the step fails, and the page still says what it was. The second job does not see the rows of the first."""
    steps.program("base", 1.0)
    steps.program("new", 1.2)
    for _ in range(2):
        steps.page.unlink(missing_ok=True)
        codes = steps.execute("gpu-regression.yml", "compare", **{"inputs.base": "HEAD~2"})
        assert codes == {**PREPARED, "Compare": 1, "Clocks as they were": 0, "Summary": 0}, steps.output
    text = steps.page.read_text()
    assert "regression gate: failed" in text
    assert "**slower**" in text
    told = json.loads((steps.clone / "build/gate/comparison.json").read_text())
    assert (told["counts"]["slower"], told["base"]["runs"]) == (1, 10)


@needs_clone
def test_gate_that_compares_nothing_fails(steps):
    steps.script(steps.folder / "base", "#!/bin/sh\nexit 1\n")
    steps.script(steps.folder / "new", "#!/bin/sh\nexit 1\n")
    codes = steps.execute("gpu-regression.yml", "compare")
    assert (codes["Compare"] != 0, codes["Summary"]) == (True, 0)
    assert "Nothing was compared" in steps.page.read_text()


@needs_clone
def test_publish(steps):
    (steps.clone / "build/history").mkdir(parents=True)
    shutil.copy(
        SOURCE / "tests/golden/rows.jsonl", steps.clone / "build/history/999.jsonl"
    )  # as if an earlier run of this machine had left it
    codes = steps.execute("publish.yml", "reproduce", **{"inputs.budget || '30m'": "2m"})
    assert set(codes.values()) == {0}, (codes, steps.output)
    assert "reproduce --budget 2m --out build/published" in steps.called()
    assert "report --history build/history results" in "\n".join(steps.called())
    there = {p.name for p in (steps.clone / "build/published").iterdir()}
    assert {
        "REPORT.md",
        "report.html",
        "rows.jsonl",
        "rows.csv",
        "junit.xml",
        "google-benchmark.json",
        "github-action-benchmark.json",
    } <= there
    assert {p.name for p in (steps.clone / "build/history").iterdir()} == {
        "999.jsonl",
        f"{BY_HAND['github.run_id']}.jsonl",
    }
    page = steps.page.read_text()
    assert "\n## What still holds\n" in page and "\n## Statements\n" not in page
    steps.clean()


@needs_clone
def test_a_release(steps):
    """Packages are built twice, tried, and released with the notes of the tag; a tag of another version is not released."""
    real = steps.folder / "package"
    shutil.copy(SOURCE / ".ci/package", real)
    steps.script(
        steps.clone / ".ci/package",
        f"""#!/bin/bash
set -e
echo "package $*" >>"$TEST_DIARY"
if [ "$1" = --twice ]; then mkdir -p "$2/1" && touch "$2/1/rungs.deb"; else exec bash -c "root=$PWD; $(sed '/^root=/d' {real})" {real} "$@"; fi
""",
    )
    steps.script(steps.clone / ".ci/try-package", '#!/bin/sh\necho "try $*" >>"$TEST_DIARY"\n')
    for tool in ("docker", "gh"):
        steps.script(steps.folder / "tools" / tool, f'#!/bin/sh\necho "{tool} $*" >>"$TEST_DIARY"\n')
    version = re.search(r"project\(rungs VERSION ([0-9.]+)", (steps.clone / "CMakeLists.txt").read_text())[1]
    (steps.clone / "CHANGELOG.md").write_text(f"# Changes\n\n## {version}\nThe first.\n")
    tag = {"github.ref_name": f"v{version}"}
    for job in ("build", "try", "image"):
        shutil.copytree(
            steps.clone / "build/packages/1", steps.clone / "build/packages", dirs_exist_ok=True
        ) if job != "build" else None
        codes = steps.execute("release.yml", job, **tag)
        assert codes and not any(codes.values()), (job, codes, steps.output)
    called = steps.called()
    assert "package --twice build/packages" in called and "try build/packages/rungs.deb" in called, called
    assert any(line.startswith("docker run --rm rungs run ") for line in called)
    for name in ("packages/rungs.deb", "image/rungs-image.tar.gz"):
        (steps.clone / "build/artifacts" / name).parent.mkdir(parents=True, exist_ok=True)
        (steps.clone / "build/artifacts" / name).touch()
    assert steps.execute("release.yml", "release", **tag) == {"Release": 0}, steps.output
    words = steps.called()[-1].split()
    assert words[:4] == ["gh", "release", "create", f"v{version}"] and len([w for w in words if "artifacts/" in w]) == 2
    assert (steps.clone / "build/notes.md").read_text() == "The first.\n"
    before = len(steps.called())
    assert steps.execute("release.yml", "release", **{"github.ref_name": "v77.0"})["Release"] == 1
    assert steps.called()[before:] == ["package --notes v77.0"], "nothing is released"
