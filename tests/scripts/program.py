"""What the whole-program tests share: where the program is, how to call it, what a check says when it fails."""

import inspect
import json
import os
import pathlib
import shutil
import subprocess

import pytest
from checkout import SOURCE

BUILD = pathlib.Path(os.environ.get("RUNGS_BUILD", SOURCE / "build/release"))
RUNGS = os.environ.get("RUNGS", str(BUILD / "bin/rungs"))
MUTANTS = BUILD / "tests" / "rungs-mutants"
EMULATOR = (BUILD / "bin" / "rungs-emulator").exists()  # not in every build: cpu-only, asan
CONFIGURED = (BUILD / "CMakeCache.txt").read_text()
CUDA = "\nRUNGS_CUDA:STRING=OFF\n" not in CONFIGURED  # knows the CUDA variants; without them nobody judges claims
RELEASE = "CMAKE_BUILD_TYPE:STRING=Release" in CONFIGURED  # other builds take no times
SANITIZED = (
    "fsanitize=address" in CONFIGURED
)  # it ends the process itself, and its allocator does not tell what is in use
HAS_GPU = subprocess.run(["sh", "-c", "nvidia-smi -L"], capture_output=True).returncode == 0
FULL = bool(os.environ.get("RUNGS_TEST_FULL"))  # ./rungs test --full

needs_emulator = pytest.mark.skipif(not EMULATOR, reason="this build has no emulator")
needs_cuda = pytest.mark.skipif(not CUDA, reason="this build has no CUDA variants")
needs_gpu = pytest.mark.skipif(not HAS_GPU, reason="this machine has no GPU")
needs_release = pytest.mark.skipif(not RELEASE, reason="only release builds take times")


def copy_mutants(to):
    """The mutants' program as a file of its own, which finds what it needs as the one in the build folder does."""
    shutil.copy2(MUTANTS, to)
    shutil.copy2(BUILD / "rungs-places", to.parent)
    (to.parent / "tests").mkdir(exist_ok=True)
    (to.parent / "tests/modules-of-mutants").symlink_to(BUILD / "tests/modules-of-mutants")


def call(*arguments, program=RUNGS, cwd=None, timeout=240, **more):
    return subprocess.run(
        [str(program), *map(str, arguments)], capture_output=True, text=True, cwd=cwd, timeout=timeout, **more
    )


def emulate(folder, what, *variants):
    """Verifies a case, or the scenario of this text, in the emulator: what the program says, and its rows."""
    out = folder / "rows.jsonl"
    out.unlink(missing_ok=True)
    if "\n" in what:
        (folder / "scenario.yaml").write_text(what)
        what = folder / "scenario.yaml"
    chosen = ["--variants", ",".join(variants)] if variants else []
    done = call("run", what, *chosen, "--emulate", "--verify-only", "--out", out, cwd=folder, timeout=800)
    return done, rows_of(out) if out.exists() else []


def emulate_each(folder, case, *variants):
    """emulate(), its rows by variant; those of another form, which a tunable chooses, have it in their name."""
    done, rows = emulate(folder, case, *variants)
    forms = [[f" {name}=1" for name in ("wide", "fused", "padded") if row["tunables"].get(name)] for row in rows]
    return done, {row["variant"].split("/")[1] + "".join(form): row for row, form in zip(rows, forms)}


def at_once(test):
    """A test that mostly waits, with a folder of its own and its parameters: it begins together with all others of its file (conftest.py, `begun`)."""

    def wait(begun, request, **_):
        begun[request.node.nodeid].result()

    names = [name for name in inspect.signature(test).parameters if name != "folder"] + ["begun", "request"]
    wait.__signature__ = inspect.Signature([inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names])
    wait.__doc__, wait.begins = test.__doc__, test
    return wait


def same_bits_with_any_blocks(folder, variant, *settings):
    """Runs it on folder/x.npy with one, two and four blocks at a time, in different orders: right each time, to the same bits."""
    outputs = set()
    for blocks in ("1", "2", "4"):
        words = [word for setting in settings for word in ("--set", setting)]
        done = call(
            "exec",
            variant,
            *words,
            "--in",
            f"x={folder / 'x.npy'}",
            "--out",
            f"y={folder / 'y.npy'}",
            "--check",
            "--emulate",
            env=os.environ | {"RUNGS_EMULATOR_BLOCKS": blocks, "RUNGS_EMULATOR_SEED": blocks},
        )
        expect(done.returncode == 0, f"{variant} {' '.join(settings)}: {blocks} blocks at a time", done)
        outputs.add((folder / "y.npy").read_bytes())
    expect(len(outputs) == 1, f"{variant} {' '.join(settings)}: the same bits in any order of blocks")


def rows_of(path, kind="row"):
    with open(path) as lines:
        return [line for line in map(json.loads, lines) if line["kind"] == kind]


def expect(condition, what, done=None):
    __tracebackhide__ = True  # pytest shows the line that calls it
    if condition:
        print(f"ok   {what}")
        return
    told = f"\nexit code {done.returncode}\nstdout: {done.stdout}\nstderr: {done.stderr}" if done else ""
    raise AssertionError(f"{what}{told}")


def expect_error(done, code, *words, what=None):
    """The exit code, and a message that holds every one of the words."""
    __tracebackhide__ = True
    told = done.stdout + done.stderr
    missing = [word for word in words if word not in told]
    expect(done.returncode == code and not missing, what or f"exit {code}, says {words}", done)
