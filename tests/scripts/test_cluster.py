"""The engines that run shards elsewhere, for real: a job array of Slurm as docs/RUNNERS.md shows it, and examples/reframe by ReFrame's local scheduler
and by Slurm's. RUNGS_TEST_FULL=1, for Slurm as root with its packages. It starts a Slurm of its own, with one node, and ends it."""

import json
import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import time

import pytest

from program import BUILD, FULL, RELEASE, RUNGS, SOURCE, call, expect, rows_of

pytestmark = pytest.mark.skipif(not FULL, reason="Slurm and ReFrame are started with --full")

SHARDS = 3
PLAN = ("smoke/double", "smoke/rolling")
CPU = ("--variants", "cpu_*")
DAEMONS = ("munged", "slurmctld", "slurmd")
WAIT_SECONDS = 60
CONFIGURATION = """ClusterName=rungs
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthInfo=socket={folder}/munge.socket
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Slurm:
    """Its daemons are children of this process and know this folder only."""

    def __init__(self, folder):
        self.folder = folder
        self.log = open(folder / "slurm.log", "w")
        self.daemons = []

    @staticmethod
    def refusal():
        """Why this machine cannot have one."""
        lacking = [name for name in (*DAEMONS, "sbatch", "squeue") if not shutil.which(name)]
        if lacking:
            return f"{', '.join(lacking)}: not installed (apt-get install slurmctld slurmd munge)"
        return None if os.getuid() == 0 else "not root, as slurmd has to be"

    def __enter__(self):
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        configuration = self.folder / "slurm.conf"
        configuration.write_text(
            CONFIGURATION.format(
                host=socket.gethostname().split(".")[0], folder=self.folder, ports=free_ports(2), cpus=os.cpu_count()
            )
        )
        os.environ["SLURM_CONF"] = str(configuration)
        munge = {
            "socket": "munge.socket",
            "key-file": "munge.key",
            "log-file": "munged.log",
            "pid-file": "munged.pid",
            "seed-file": "munged.seed",
        }
        try:
            self.start(
                "munged", "--foreground", *(f"--{option}={self.folder / name}" for option, name in munge.items())
            )
            self.wait_for("munge's socket", (self.folder / "munge.socket").exists)
            self.start("slurmctld", "-D")
            self.start("slurmd", "-D")
            self.wait_for(
                "a node that takes jobs",
                lambda: "idle" in subprocess.run(["sinfo", "-h"], capture_output=True, text=True).stdout,
            )
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self, *words):
        self.daemons.append(subprocess.Popen(words, stdout=self.log, stderr=self.log))

    def wait_for(self, what, is_there):
        end = time.monotonic() + WAIT_SECONDS
        while not is_there():
            dead = [daemon.args[0] for daemon in self.daemons if daemon.poll() is not None]
            if dead or time.monotonic() > end:
                log = (self.folder / "slurm.log").read_text()
                expect(False, f"{what} (ended: {dead})\n{log}")
            time.sleep(0.2)

    def __exit__(self, *_):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in reversed(self.daemons):
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self.log.close()
        os.environ.pop("SLURM_CONF", None)


def identity(row):
    return row["case"], row["spec"], row["backend"], row["verdict"]


@pytest.fixture(scope="module")
def slurm(shared_folder):
    if reason := Slurm.refusal():
        pytest.skip(f"Slurm: {reason}")
    folder = shared_folder / "slurm"
    folder.mkdir()
    shared_folder.chmod(0o755)  # munged wants its socket within reach of all
    with Slurm(folder) as slurm:
        yield slurm


def test_a_job_array_of_the_page(slurm, folder):
    """Its job script, for a smaller scenario."""
    script = re.search(r"```bash\n(#!/bin/bash\n#SBATCH.*?)```", (SOURCE / "docs/RUNNERS.md").read_text(), re.DOTALL)[1]
    expect(
        f"--array=1-{SHARDS}" in script and f"$SLURM_ARRAY_TASK_ID/{SHARDS}" in script,
        f"docs/RUNNERS.md has a job array of {SHARDS} shards",
    )
    script = script.replace("rungs run published", f"rungs run {shlex.join([*PLAN, '--verify-only', *CPU])}")
    expect("--verify-only" in script, "of the published scenarios")
    (folder / "array.sh").write_text(script)
    path = f"{pathlib.Path(RUNGS).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sbatch", "--wait", "array.sh"],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )
    told = "".join(path.read_text() for path in folder.glob("slurm-*.out"))
    expect(done.returncode == 0, f"Slurm runs a job array{told if done.returncode else ''}", done)
    shards = sorted(folder.glob("shard-*.jsonl"))
    expect(len(shards) == SHARDS and all(rows_of(path) for path in shards), f"{SHARDS} files of rows")
    whole, merged = folder / "whole.jsonl", folder / "rows.jsonl"
    done = call("merge", *shards, "--out", merged, *(f"--expect={name}" for name in PLAN), *CPU)
    expect(done.returncode == 0, "which rungs merge joins", done)
    call("run", *PLAN, "--verify-only", *CPU, "--out", whole)
    expect(
        sorted(map(identity, rows_of(merged))) == sorted(map(identity, rows_of(whole))),
        "they are the rows of a run without shards",
    )


class ReFrame:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def run(self, system, *more, rungs=RUNGS):
        """The exit code, and the report's only test case."""
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        example = SOURCE / "examples/reframe"
        words = [
            self.program,
            "-C",
            example / "settings.py",
            "-c",
            example / "rungs_check.py",
            "--prefix",
            self.folder,
            "--system",
            f"here:{system}",
            "-n",
            "Scenario%scenario=smoke/double",
            "-S",
            "options=--quick --no-ceilings --variants=cpu_*",
            "--report-file",
            report,
            "-r",
            *more,
        ]
        done = subprocess.run(
            list(map(str, words)),
            env={**os.environ, "RUNGS": str(rungs), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=300,
        )
        cases = (
            [case for run in json.loads(report.read_text())["runs"] for case in run["testcases"]]
            if report.exists()
            else []
        )
        expect(len(cases) == 1, "ReFrame runs the one scenario", done)
        return done, cases[0]


@pytest.mark.parametrize("system", ["local", "slurm"])
def test_scenarios_as_tests_of_reframe(folder, request, system):
    program = shutil.which("reframe") or BUILD.parent / "reframe/bin/reframe"
    if not os.access(program, os.X_OK):
        pip = f"python3 -m venv {program.parents[1]} && {program.parent}/pip install ReFrame-HPC"
        pytest.skip(f"no reframe on PATH nor {program} ({pip})")
    if not RELEASE:
        pytest.skip("this build takes no times")
    if system == "slurm":
        request.getfixturevalue("slurm")
    reframe = ReFrame(program, folder)
    done, case = reframe.run(system)
    expect(
        done.returncode == 0 and case["result"] == "pass",
        f"{system}: a scenario that passes is a test that passes",
        done,
    )
    rows = list(reframe.folder.glob(f"output/here/{system}/**/rows.jsonl"))
    expect(len(rows) == 1 and rows_of(rows[0]), f"{system}: its rows are kept")
    base = reframe.folder / "base.jsonl"
    for factor, result in ((1e6, "pass"), (1e-6, "fail")):
        lines = [json.loads(line) for line in rows[0].read_text().splitlines()]
        for row in lines:
            if row["kind"] == "row":
                row["timing"]["hot"]["median"] *= factor
        base.write_text("".join(json.dumps(line) + "\n" for line in lines))
        done, case = reframe.run(system, "-S", f"base={base}")
        expect(
            (done.returncode != 0, case["result"], case["fail_phase"])
            == (result == "fail", result, "performance" if result == "fail" else None),
            f"{system}: against a reference of {factor:g} times the time it is '{result}'",
            done,
        )
        rows = list(reframe.folder.glob(f"output/here/{system}/**/rows.jsonl"))
    wrong = reframe.folder / "wrong"  # as if a variant failed
    wrong.write_text(
        f'#!/bin/sh\n\'{RUNGS}\' "$@"\nif [ $1 = run ]; then sed -i \'s/"verdict":"pass"/"verdict":"fail"/\' rows.jsonl; fi\n'
    )
    wrong.chmod(0o755)
    done, case = reframe.run(system, rungs=wrong)
    expect(
        done.returncode != 0 and case["fail_phase"] == "sanity" and "double/cpu_loop on double n=10007" in done.stdout,
        f"{system}: rows that fail verification fail the test",
        done,
    )
