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

from program import RELEASE, RUNGS, SOURCE
from test_ab import PROGRAM

try:
    import check_jsonschema  # noqa: F401
    import ruamel.yaml
except ImportError as error:
    print(error)
    sys.exit(77)

FOLDER = SOURCE / ".github/workflows"
WORKFLOWS = {path.name: ruamel.yaml.YAML(typ="safe").load(path) for path in sorted(FOLDER.glob("*.yml"))}
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
    return subprocess.run([sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *map(str, paths)], capture_output=True, text=True)


class Files(unittest.TestCase):
    def test_schema(self):
        self.assertEqual(sorted(WORKFLOWS), ["ci.yml", "gpu-regression.yml", "publish.yml"])
        with tempfile.TemporaryDirectory() as folder:
            for schema, fault in (("vendor.github-workflows", ("runs-on:", "run-on:")), ("custom.github-workflows-require-timeout", ("timeout-minutes: 60", "name: x"))):
                done = check(schema, *FOLDER.glob("*.yml"))
                self.assertEqual(done.returncode, 0, done.stdout)
                planted = pathlib.Path(folder) / "planted.yml"
                planted.write_text((FOLDER / "ci.yml").read_text().replace(*fault))
                self.assertNotEqual(check(schema, planted).returncode, 0, f"{schema} does not notice {fault}")

    def test_care(self):
        """What a pull request can name never becomes part of a command; tokens read only; actions have versions."""
        for file, workflow in WORKFLOWS.items():
            self.assertEqual(workflow["permissions"], {"contents": "read"}, file)
            self.assertEqual(workflow["defaults"]["run"]["shell"], "bash", "which stops at the first failure, in pipes too")
            for name, job, step in steps_of(workflow):
                self.assertNotIn("${{", step.get("run", ""), f"{file}: {name}: hand it over in env")
                if "uses" in step:
                    self.assertRegex(step["uses"], r"^actions/[a-z-]+@v\d+$")
                if "self-hosted" in job["runs-on"] and "pull_request" in workflow["on"]:
                    self.assertIn("head.repo.full_name == github.repository", job["if"])

    def test_jobs_that_wait_are_not_lost(self):
        """Of a concurrency group GitHub keeps one run that waits and cancels the others: so no two pull requests may share one, nor runs by
        hand. That only one measures at a time is for the lock on the runner."""
        def group(file, **github):
            text = WORKFLOWS[file].get("concurrency", {"group": "${{ github.run_id }}"})["group"]
            def evaluated(match):
                found = [github.get(term.strip().removeprefix("github.")) for term in match.group(1).split("||")]
                return str(next(value for value in found if value))
            return re.sub(r"\$\{\{(.*?)\}\}", evaluated, text)

        def pull(number, run):
            return group("gpu-regression.yml", run_id=run, **{"event.pull_request.number": number})
        self.assertEqual(pull(7, 1001), pull(7, 1002))
        others = [pull(7, 1001), pull(8, 1003), pull(None, 1004), pull(None, 1005), group("publish.yml", run_id=1006), group("publish.yml", run_id=1007)]
        self.assertEqual(len(set(others)), len(others), others)
        self.assertIs(WORKFLOWS["gpu-regression.yml"]["concurrency"]["cancel-in-progress"], True)
        locks = {WORKFLOWS[file]["env"]["LOCK"] for file in ("gpu-regression.yml", "publish.yml")}
        self.assertEqual(len(locks), 1)
        measuring = 0
        for workflow in WORKFLOWS.values():
            for name, job, step in steps_of(workflow):
                for line in re.findall(r".*\./rungs (?:ab|reproduce|run|calibrate)\b", step.get("run", "")):
                    self.assertRegex(line, r'^\s*flock "\$LOCK" \./rungs ')
                    measuring += 1
        self.assertEqual(measuring, 2)

    @unittest.skipUnless(shutil.which("shellcheck"), "shellcheck is not installed")
    def test_shell(self):
        for file, workflow in WORKFLOWS.items():
            for name, _, step in steps_of(workflow):
                if "run" in step:
                    done = subprocess.run(["shellcheck", "--shell=bash", "-"], input=step["run"], capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, f"{file}: {name}\n{done.stdout}")


@unittest.skipUnless(RELEASE and (SOURCE / ".git").exists(), "takes times and a clone: a release build in a repository")
class Steps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rungs_workflows_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.clone, self.diary, self.page = self.folder / "clone", self.folder / "diary", self.folder / "page.md"
        subprocess.run(["git", "-c", "safe.directory=*", "clone", "-q", "--no-hardlinks", SOURCE, self.clone], check=True)
        shutil.rmtree(self.clone / ".github", ignore_errors=True)
        shutil.copytree(SOURCE / ".github", self.clone / ".github")
        (self.folder / "tools").mkdir()
        self.script(self.clone / "rungs", RUNGS_STAND_IN.format(rungs=RUNGS))
        self.script(self.folder / "tools/apt-get", '#!/bin/sh\necho "apt-get $*" >>"$TEST_DIARY"\n')
        self.environment = {**os.environ, "TEST_DIARY": str(self.diary), "TEST_PROGRAMS": str(self.folder), "HOME": str(self.folder),
                            "GITHUB_STEP_SUMMARY": str(self.page), "PATH": f"{self.folder / 'tools'}:{os.environ['PATH']}"}

    @staticmethod
    def script(path, text):
        path.write_text(text)
        path.chmod(0o755)

    def program(self, name, factor):
        self.script(self.folder / name, PROGRAM.format(python=sys.executable, scripts=str(SOURCE / "tests/scripts"), diary=str(self.folder / "programs"),
                                                       name=name, factor=factor, fails=False, help="--no-ceilings"))

    @staticmethod
    def value(text, inputs):
        """`${{ inputs.base || 'HEAD^1' }}`, and nothing else that would need GitHub to be evaluated."""
        def evaluated(match):
            terms = [term.strip() for term in match.group(1).split("||")]
            known = [term[1:-1] if term.startswith("'") else inputs.get(re.fullmatch(r"inputs\.(\w+)", term).group(1), "") for term in terms]
            return next((word for word in known if word), "")
        return re.sub(r"\$\{\{(.*?)\}\}", evaluated, str(text))

    def execute(self, file, job, inputs=None):
        """Steps that are executed -> exit codes by name, as a runner would: after a failure only those that ask for it."""
        workflow, codes, failed = WORKFLOWS[file], {}, False
        for step in workflow["jobs"][job]["steps"]:
            wanted = step.get("if", "")
            if "run" not in step or "failure()" in wanted or failed and not re.search(r"always\(\)|!cancelled\(\)", wanted):
                continue
            own = {k: self.value(v, inputs or {}) for holder in (workflow, workflow["jobs"][job], step) for k, v in (holder.get("env") or {}).items()}
            done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], cwd=self.clone, env={**self.environment, **own},
                                  capture_output=True, text=True, timeout=300)
            self.output = done.stdout + done.stderr
            codes[step["name"]], failed = done.returncode, failed or done.returncode != 0
        return codes

    def called(self):
        return self.diary.read_text().splitlines()

    def test_ci(self):
        for job in WORKFLOWS["ci.yml"]["jobs"]:
            self.diary.unlink(missing_ok=True)
            codes = self.execute("ci.yml", job)
            self.assertTrue(codes and not any(codes.values()), (codes, self.output))
            self.assertEqual(self.called()[-1], "test", ".ci/run ends in the tests")
            self.assertEqual(any("shellcheck" in line for line in self.called()), job == "debian")
        presets = {p["name"] for p in json.loads((SOURCE / "CMakePresets.json").read_text())["configurePresets"]}
        self.assertIn(WORKFLOWS["ci.yml"]["jobs"]["cpu-only"]["env"]["RUNGS_PRESET"], presets)

    def test_gate_passes(self):
        self.program("base", 1.0)
        self.program("new", 1.0)
        codes = self.execute("gpu-regression.yml", "compare")
        self.assertEqual(codes, {"What this machine can do": 0, "Compare": 0, "Summary": 0}, self.output)
        parent = subprocess.run(["git", "rev-parse", "HEAD^1"], cwd=self.clone, capture_output=True, text=True).stdout.strip()
        self.assertIn(parent, self.called())
        self.assertIn("regression gate: passed", self.page.read_text())
        self.assertEqual({p.name for p in (self.clone / "ab").iterdir()}, {"base.jsonl", "new.jsonl", "summary.md", "junit.xml", "comparison.json"})
        words = json.loads((self.folder / "programs").read_text().splitlines()[0])
        for scenario in WORKFLOWS["gpu-regression.yml"]["env"]["SCENARIOS"].split():
            self.assertIn(str(SOURCE / f"scenarios/{scenario}.yaml"), words, "a scenario that is there")

    def test_gate_fails(self):
        """A slow-down: the step fails, and the page still says what it was. The second job does not see the rows of the first."""
        self.program("base", 1.0)
        self.program("new", 1.2)
        for _ in range(2):
            self.page.unlink(missing_ok=True)
            codes = self.execute("gpu-regression.yml", "compare", {"base": "HEAD~2"})
            self.assertEqual(codes, {"What this machine can do": 0, "Compare": 1, "Summary": 0}, self.output)
        text = self.page.read_text()
        self.assertIn("regression gate: failed", text)
        self.assertIn("**slower**", text)
        told = json.loads((self.clone / "ab/comparison.json").read_text())
        self.assertEqual((told["counts"]["slower"], told["base"]["runs"]), (1, 10))

    def test_gate_that_compares_nothing_fails(self):
        self.script(self.folder / "base", "#!/bin/sh\nexit 1\n")
        self.script(self.folder / "new", "#!/bin/sh\nexit 1\n")
        codes = self.execute("gpu-regression.yml", "compare")
        self.assertEqual((codes["Compare"] != 0, codes["Summary"]), (True, 0))
        self.assertIn("Nothing was compared", self.page.read_text())

    def test_publish(self):
        for rows in sorted((self.clone / "results").glob("2*.jsonl"), key=lambda path: path.stat().st_size)[2:]:
            rows.unlink()  # a history of all of them takes a minute
        codes = self.execute("publish.yml", "reproduce", {"budget": "20s"})
        self.assertEqual(set(codes.values()), {0}, (codes, self.output))
        self.assertIn("reproduce --budget 20s --out published", self.called())
        there = {p.name for p in (self.clone / "published").iterdir()}
        self.assertLessEqual({"REPORT.md", "rows.jsonl", "rows.csv", "rows.md", "junit.xml", "google-benchmark.json", "bmf.json", "github-action-benchmark.json"}, there)
        self.assertNotIn("all", there)
        self.assertIn("1 row", self.page.read_text())


if __name__ == "__main__":
    sys.exit(not unittest.main(exit=False, verbosity=2).result.wasSuccessful())
