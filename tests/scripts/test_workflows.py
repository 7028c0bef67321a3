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
import unittest

from program import RELEASE, RUNGS, SOURCE, call
from test_ab import PROGRAM
from workflow_steps import BASH, RUNS_AFTER, execute

try:
    import check_jsonschema  # noqa: F401
    import ruamel.yaml
except ImportError as error:
    print(error)
    sys.exit(77)

FOLDER = SOURCE / ".github/workflows"
WORKFLOWS = {path.name: ruamel.yaml.YAML(typ="safe").load(path) for path in sorted(FOLDER.glob("*.yml"))}
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
}
GROUPS = {"github.ref", "github.event.pull_request.number || github.run_id"}
NOT_OF_STRANGERS = (
    "github.event_name != 'pull_request' || github.event.pull_request.head.repo.full_name == github.repository"
)
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


class Files(unittest.TestCase):
    def test_schema(self):
        self.assertEqual(sorted(WORKFLOWS), ["ci.yml", "gpu-regression.yml", "publish.yml"])
        with tempfile.TemporaryDirectory() as folder:
            for schema, fault in (
                ("vendor.github-workflows", ("runs-on:", "run-on:")),
                ("custom.github-workflows-require-timeout", ("timeout-minutes: 60", "name: x")),
            ):
                done = check(schema, *FOLDER.glob("*.yml"), SOURCE / "template/.github/workflows/rungs.yml")
                self.assertEqual(done.returncode, 0, done.stdout)
                planted = pathlib.Path(folder) / "planted.yml"
                planted.write_text((FOLDER / "ci.yml").read_text().replace(*fault))
                self.assertNotEqual(check(schema, planted).returncode, 0, f"{schema} does not notice {fault}")

    def test_care(self):
        """What a pull request can name never becomes part of a command; tokens read only; actions have versions."""
        for file, workflow in WORKFLOWS.items():
            self.assertEqual(workflow["permissions"], {"contents": "read"}, file)
            self.assertEqual(
                workflow["defaults"]["run"]["shell"], "bash", "which stops at the first failure, in pipes too"
            )
            for name, job, step in steps_of(workflow):
                self.assertNotIn("${{", step.get("run", ""), f"{file}: {name}: hand it over in env")
                if "uses" in step:
                    self.assertRegex(step["uses"], r"^actions/[a-z-]+@[0-9a-f]{40}$", "a tag can be moved")
                if step.get("uses", "").startswith("actions/checkout"):
                    self.assertIs(step["with"]["persist-credentials"], False, "what is built could read them")
                if "self-hosted" in job["runs-on"] and "pull_request" in workflow["on"]:
                    self.assertEqual(job["if"], NOT_OF_STRANGERS)

    def test_expressions(self):
        """GitHub takes a name that no event has for ''. So every expression is one of those that were looked up in its documentation."""
        text = "".join((FOLDER / file).read_text() for file in WORKFLOWS)
        found = re.findall(r"\$\{\{ (.*?) \}\}", text)
        self.assertEqual(set(found), set(BY_HAND) | GROUPS | {"!cancelled()"})
        self.assertEqual(len(found), text.count("${{"), "none is overlooked")
        guards = {
            holder["if"]
            for workflow in WORKFLOWS.values()
            for name, job, step in steps_of(workflow)
            for holder in (job, step)
            if "if" in holder
        }
        self.assertEqual(guards, {NOT_OF_STRANGERS, *(when for when in RUNS_AFTER if when)})

    def test_what_is_named_exists(self):
        """Scripts, verbs, their options, scenarios, presets."""
        self.assertLessEqual(
            {job["env"]["RUNGS_PRESET"] for job in WORKFLOWS["ci.yml"]["jobs"].values() if "env" in job}, PRESETS
        )
        for file, workflow in WORKFLOWS.items():
            for scenario in workflow.get("env", {}).get("SCENARIOS", "").split():
                self.assertTrue((SOURCE / f"scenarios/{scenario}.yaml").exists(), scenario)
            for name, _, step in steps_of(workflow):
                text = re.sub(r"^.*\b(git|apt-get|sed|head) .*$", "", step.get("run", ""), flags=re.M)
                for script in re.findall(r"(?<!\S)(?:\./|\.ci/)[\w/]+", text):
                    self.assertTrue(os.access(SOURCE / script, os.X_OK), f"{file}: {name}: {script}")
                verbs = set(re.findall(r"\./rungs ([\w-]+)", text))
                known = {verb: call(verb, "--help").stdout for verb in verbs}
                for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", text):
                    self.assertTrue(
                        any(re.search(rf"{option}\b", told) for told in known.values()),
                        f"{file}: {name}: {option} of {verbs}",
                    )
                for verb, told in known.items():
                    self.assertTrue(told.startswith(f"usage: rungs {verb}"), f"{file}: {name}: {verb}")

    @unittest.skipUnless(
        shutil.which("actionlint"),
        "actionlint is not installed: types, contexts and functions of expressions are not checked",
    )
    def test_actionlint(self):
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder) / "actionlint.yaml"
            config.write_text("self-hosted-runner:\n  labels: [gpu]\n")
            done = subprocess.run(
                ["actionlint", "-no-color", "-config-file", config, *FOLDER.glob("*.yml")],
                capture_output=True,
                text=True,
            )
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_strangers_are_not_run_and_do_not_pass(self):
        """On the GPU runner: a pull request of our own and runs by hand, never a fork. The required check passes for what was compared and good,
        and for nothing else."""
        compare, gate = (
            WORKFLOWS["gpu-regression.yml"]["jobs"]["compare"],
            WORKFLOWS["gpu-regression.yml"]["jobs"]["gate"],
        )
        self.assertEqual(compare["if"], NOT_OF_STRANGERS)
        self.assertEqual((gate["needs"], gate["if"]), ("compare", "always()"), "it is never skipped itself")
        self.assertNotIn("self-hosted", gate["runs-on"])
        self.assertFalse([step for step in gate["steps"] if "uses" in step], "it runs nothing of the change")
        self.assertEqual(gate["steps"][0]["env"], {"RESULT": "${{ needs.compare.result }}"})
        for result in ("success", "failure", "skipped", "cancelled"):
            with tempfile.TemporaryDirectory() as folder:
                page = pathlib.Path(folder) / "page.md"
                done = subprocess.run(
                    [*BASH, gate["steps"][0]["run"]],
                    capture_output=True,
                    text=True,
                    env={**os.environ, "RESULT": result, "GITHUB_STEP_SUMMARY": str(page)},
                )
                self.assertEqual(done.returncode == 0, result == "success", (result, done.stdout))
                self.assertEqual(page.exists(), result == "skipped")

    def test_jobs_that_wait_are_not_lost(self):
        """Of a concurrency group GitHub keeps one run that waits and cancels the others: so no two pull requests may share one, nor runs by
        hand. That only one measures at a time is for the lock on the runner."""
        self.assertEqual(
            WORKFLOWS["gpu-regression.yml"]["concurrency"],
            {
                "group": "gpu-regression-${{ github.event.pull_request.number || github.run_id }}",
                "cancel-in-progress": True,
            },
        )
        self.assertNotIn("concurrency", WORKFLOWS["publish.yml"])

    def test_one_measures_at_a_time(self):
        """And who builds does not wait: every job that measures has built before it takes the lock, or lets `ab` take it."""
        locks = {WORKFLOWS[file]["env"]["LOCK"] for file in ("gpu-regression.yml", "publish.yml")}
        self.assertEqual(len(locks), 1)
        measuring = 0
        for workflow in WORKFLOWS.values():
            built = set()
            for name, job, step in steps_of(workflow):
                text = step.get("run", "")
                for line in re.findall(r".*\./rungs (?:ab|reproduce|run|calibrate)\b.*", text):
                    self.assertIn(name, built)
                    if "./rungs ab" in line:
                        self.assertIn('--lock "$LOCK"', text)
                        self.assertNotIn("flock", text)
                    else:
                        self.assertRegex(line, r'^\s*flock "\$LOCK" \./rungs ')
                    measuring += 1
                if "./rungs doctor" in text:
                    built.add(name)
        self.assertEqual(measuring, 2)

    def test_nothing_is_left_among_the_sources(self):
        """What steps write lies in build/: rows beside the sources would be taken for changes, and stay there with `clean: false`."""
        for file in ("gpu-regression.yml", "publish.yml"):
            for _, _, step in steps_of(WORKFLOWS[file]):
                for path in re.findall(r"--(?:out|figures|markdown|json|junit) \"?(\S+)", step.get("run", "")):
                    self.assertTrue(path.startswith("build/"), path)
                if "upload-artifact" in step.get("uses", ""):
                    self.assertTrue(step["with"]["path"].startswith("build/"))
        self.assertIn("/build/", (SOURCE / ".gitignore").read_text().split())

    @unittest.skipUnless(shutil.which("shellcheck"), "shellcheck is not installed")
    def test_shell(self):
        for file, workflow in WORKFLOWS.items():
            for name, _, step in steps_of(workflow):
                if "run" in step:
                    done = subprocess.run(
                        ["shellcheck", "--shell=bash", "-"], input=step["run"], capture_output=True, text=True
                    )
                    self.assertEqual(done.returncode, 0, f"{file}: {name}\n{done.stdout}")


@unittest.skipUnless(RELEASE and (SOURCE / ".git").exists(), "takes times and a clone: a release build in a repository")
class Steps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rungs_workflows_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.clone, self.diary, self.page = self.folder / "clone", self.folder / "diary", self.folder / "page.md"
        subprocess.run(
            ["git", "-c", "safe.directory=*", "clone", "-q", "--no-hardlinks", SOURCE, self.clone], check=True
        )
        shutil.rmtree(self.clone / ".github", ignore_errors=True)
        shutil.copytree(SOURCE / ".github", self.clone / ".github")
        (self.folder / "tools").mkdir()
        self.script(self.clone / "rungs", RUNGS_STAND_IN.format(rungs=RUNGS))
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
        self.script(
            self.folder / name,
            PROGRAM.format(
                python=sys.executable,
                scripts=str(SOURCE / "tests/scripts"),
                diary=str(self.folder / "programs"),
                name=name,
                factor=factor,
                fails=False,
                help="--out --no-ceilings",
            ),
        )

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
        self.assertEqual(self.git("status", "--porcelain", "--", ":!rungs", ":!.github", ":!results"), "")

    def bare_root(self, code):
        self.script(self.clone / "tests/fresh.sh", f'#!/bin/sh\necho fresh >>"$TEST_DIARY"\nexit {code}\n')

    def test_ci_in_place(self):
        self.bare_root(77)  # none can be made
        for job in WORKFLOWS["ci.yml"]["jobs"]:
            self.diary.unlink(missing_ok=True)
            codes = self.execute("ci.yml", job)
            self.assertTrue(codes and not any(codes.values()), (codes, self.output))
            self.assertEqual(self.called()[-1], "test", ".ci/run ends in the tests")
            self.assertEqual("fresh" in self.called(), job != "cpu-only", "a preset of its own is tried in place")
            self.assertEqual(any("shellcheck" in line for line in self.called()), job == "debian")

    def test_ci_in_a_bare_root(self):
        for code in (0, 1):
            self.diary.unlink(missing_ok=True)
            self.bare_root(code)
            codes = self.execute("ci.yml", "ubuntu")
            self.assertEqual(any(codes.values()), bool(code), (codes, self.output))
            self.assertEqual(self.called(), ["fresh"], "the suite ran there, once")

    def test_gate_passes(self):
        self.program("base", 1.0)
        self.program("new", 1.0)
        codes = self.execute("gpu-regression.yml", "compare", **{"github.event_name": "pull_request"})
        self.assertEqual(codes, {**PREPARED, "Compare": 0, "Clocks as they were": 0, "Summary": 0}, self.output)
        self.assertIn(self.git("rev-parse", "HEAD^1"), self.called())
        self.assertIn("regression gate: passed", self.page.read_text())
        self.assertEqual(
            {p.name for p in (self.clone / "build/gate").iterdir()},
            {"base.jsonl", "new.jsonl", "summary.md", "junit.xml", "comparison.json"},
        )
        words = json.loads((self.folder / "programs").read_text().splitlines()[0])
        for scenario in WORKFLOWS["gpu-regression.yml"]["env"]["SCENARIOS"].split():
            self.assertIn(str(SOURCE / f"scenarios/{scenario}.yaml"), words, "a scenario that is there")
        self.clean()

    def test_a_base_that_was_kept_is_not_trusted(self):
        """For pull requests it is built anew: an earlier one's code could have changed it."""
        self.script(self.clone / "rungs", "#!/bin/sh\n")
        (self.clone / "build/ab/builds").mkdir(parents=True)
        self.execute("gpu-regression.yml", "compare")
        self.assertTrue((self.clone / "build/ab/builds").exists())
        self.execute("gpu-regression.yml", "compare", **{"github.event_name": "pull_request"})
        self.assertFalse((self.clone / "build/ab").exists())

    def test_a_gpu_in_use(self):
        """Nothing is measured beside another program; clocks are locked where that is allowed, and given back."""
        smi = self.folder / "tools/nvidia-smi"
        for apps, lock, code, words in (
            ("", 0, 0, "SM clock locked at 1980 MHz"),
            ("", 4, 0, "SM clock not locked"),
            ("77, train", 0, 1, "in use"),
        ):
            self.script(
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
            done = subprocess.run([SOURCE / ".ci/steady", "lock"], capture_output=True, text=True, env=self.environment)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(words, done.stdout + done.stderr)
        subprocess.run([SOURCE / ".ci/steady", "unlock"], check=True, env=self.environment)
        self.assertIn("-i 0 -rgc", self.called())
        self.diary.unlink()
        for word in ("lock", "unlock"):
            subprocess.run(
                [SOURCE / ".ci/steady", word], capture_output=True, env={**self.environment, "CLOCKS": "keep"}
            )
        self.assertFalse(any("-lgc" in line or "-rgc" in line for line in self.called()), "not ours to set")
        self.script(self.clone / "rungs", "#!/bin/sh\n")
        codes = self.execute("gpu-regression.yml", "compare")
        self.assertNotIn("Compare", codes)
        self.assertEqual((codes["Idle, and clocks locked where this runner may"], codes["Clocks as they were"]), (1, 0))

    def test_base_by_hand(self):
        """A branch of three commits is judged as a whole; the default branch by its last commit; and what is asked for is taken."""
        script = next(
            step["run"]
            for step in WORKFLOWS["gpu-regression.yml"]["jobs"]["compare"]["steps"]
            if step.get("name") == "Compare"
        )
        start = self.git("rev-parse", "HEAD")
        self.git("update-ref", "refs/remotes/origin/main", start)
        self.script(self.clone / "rungs", '#!/bin/sh\ngit rev-parse "$3" >"$TEST_DIARY"\n')

        def base(**variables):
            env = {
                **self.environment,
                **WORKFLOWS["gpu-regression.yml"]["env"],
                "EVENT": "workflow_dispatch",
                "BASE": "",
                "DEFAULT_BRANCH": "main",
                **variables,
            }
            done = subprocess.run(
                ["bash", "-eo", "pipefail", "-c", script], cwd=self.clone, env=env, capture_output=True, text=True
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            return self.diary.read_text().strip()

        self.assertEqual(base(), self.git("rev-parse", "HEAD^1"))
        for number in range(3):
            self.git("commit", "-q", "--allow-empty", "-m", f"change {number}")
        self.assertEqual(base(), start)
        self.assertEqual(base(BASE="HEAD~2"), self.git("rev-parse", "HEAD~2"))
        self.assertEqual(base(EVENT="pull_request"), self.git("rev-parse", "HEAD^1"))

    def test_gate_fails(self):
        """A slow-down: the step fails, and the page still says what it was. The second job does not see the rows of the first."""
        self.program("base", 1.0)
        self.program("new", 1.2)
        for _ in range(2):
            self.page.unlink(missing_ok=True)
            codes = self.execute("gpu-regression.yml", "compare", **{"inputs.base": "HEAD~2"})
            self.assertEqual(codes, {**PREPARED, "Compare": 1, "Clocks as they were": 0, "Summary": 0}, self.output)
        text = self.page.read_text()
        self.assertIn("regression gate: failed", text)
        self.assertIn("**slower**", text)
        told = json.loads((self.clone / "build/gate/comparison.json").read_text())
        self.assertEqual((told["counts"]["slower"], told["base"]["runs"]), (1, 10))

    def test_gate_that_compares_nothing_fails(self):
        self.script(self.folder / "base", "#!/bin/sh\nexit 1\n")
        self.script(self.folder / "new", "#!/bin/sh\nexit 1\n")
        codes = self.execute("gpu-regression.yml", "compare")
        self.assertEqual((codes["Compare"] != 0, codes["Summary"]), (True, 0))
        self.assertIn("Nothing was compared", self.page.read_text())

    def test_publish(self):
        (self.clone / "build/history").mkdir(parents=True)
        shutil.copy(
            SOURCE / "tests/golden/rows.jsonl", self.clone / "build/history/999.jsonl"
        )  # as if an earlier run of this machine had left it
        codes = self.execute("publish.yml", "reproduce", **{"inputs.budget || '30m'": "2m"})
        self.assertEqual(set(codes.values()), {0}, (codes, self.output))
        self.assertIn("reproduce --budget 2m --out build/published", self.called())
        self.assertIn("report --history build/history results", "\n".join(self.called()))
        there = {p.name for p in (self.clone / "build/published").iterdir()}
        self.assertLessEqual(
            {
                "REPORT.md",
                "report.html",
                "rows.jsonl",
                "rows.csv",
                "rows.md",
                "junit.xml",
                "google-benchmark.json",
                "github-action-benchmark.json",
            },
            there,
        )
        self.assertEqual(
            {p.name for p in (self.clone / "build/history").iterdir()},
            {"999.jsonl", f"{BY_HAND['github.run_id']}.jsonl"},
        )
        self.assertIn("double (n = 1000", self.page.read_text())
        self.clean()


if __name__ == "__main__":
    sys.exit(not unittest.main(exit=False, verbosity=2).result.wasSuccessful())
