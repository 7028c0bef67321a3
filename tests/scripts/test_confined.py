"""What a worker may write: its own folder and devices. A mutant and a library try each file that decides a row, now or later."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from program import BUILD, MUTANTS, SANITIZED, SOURCE, call, copy_mutants, expect, rows_of

CASE = "double n=1003"
# What must not change: files, and folders in which nothing may be planted.
FILES = (
    "scenario.yaml",
    "rows.jsonl",
    "cache/0123456789abcdef",
    "package/numpy.py",
    "repository/.git/HEAD",
    "rungs-mutants",
)
FOLDERS = ("cache", "package", "repository/.git", ".")
OWN = (BUILD / "bin", BUILD / "tests/modules-of-mutants/double", SOURCE / "impls/double", SOURCE / "scenarios", SOURCE)
NO_LANDLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
long syscall(long number, ...) {
    va_list list;
    long a[6];
    va_start(list, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
    va_end(list);
    if (number >= 444 && number <= 446) return errno = ENOSYS, -1L;
    return ((long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"))(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
"""

pytestmark = pytest.mark.skipif(SANITIZED, reason="a sanitizer's program loads no module that was compiled without it")


@pytest.fixture(autouse=True)
def confined(monkeypatch):
    monkeypatch.delenv("RUNGS_WORKERS_WRITE")


def has_landlock():
    return "ok  workers      confined" in call("doctor").stdout


@pytest.fixture
def place(folder):
    """A program, and files as a checkout has them."""
    for name in FILES[:-1]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("as it was\n")
    (folder / "scenario.yaml").write_text("name: mine\n")
    (folder / "rows.jsonl").unlink()
    copy_mutants(folder / "rungs-mutants")
    return folder


def state(folder):
    """Of all files but the rows, which the program itself writes."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != "rows.jsonl"]
    return {path: (path.read_bytes(), path.is_symlink()) for path in paths}


def planted():
    return [path / "planted" for path in OWN if (path / "planted").exists()]


def attack(place, variant):
    targets = [*(place / name for name in (*FILES, *FOLDERS)), *OWN]
    environment = {**os.environ, "RUNGS_MUTANT_TARGETS": "\n".join(map(str, targets))}
    out = place / "rows.jsonl"
    options = ("--verify-only", "--no-ceilings", "--out", out)
    done = call("run", CASE, "--variants", f"{variant},cpu_right", *options, program=MUTANTS, env=environment)
    return done, {row["variant"]: row for row in rows_of(out)}


@pytest.mark.parametrize("variant", ["cpu_writes_files", "peer_writes_files"])
def test_nothing_that_decides_a_row_can_be_written(place, variant):
    if not has_landlock():
        pytest.skip("this kernel has no Landlock")
    before = state(place)
    done, rows = attack(place, variant)
    row = rows[f"double/{variant}"]
    expect(
        row["verdict"] == "pass" and row["confined"] is True, f"the attack went on to its end: {row['reason']}", done
    )
    expect(rows["double/cpu_right"]["verdict"] == "pass", "the rows are whole", done)
    expect(state(place) == before, "every file is as it was")
    expect(not planted(), f"nothing was planted: {planted()}")


def test_a_module_is_asked_what_it_is_in_confinement(place):
    """Its constructors run before the first question."""
    if not has_landlock():
        pytest.skip("this kernel has no Landlock")
    module = BUILD / "tests/modules-of-mutants/double/cpu_writes_files.so"
    call("run", CASE, "--variants", "cpu_writes_files", "--verify-only", "--out", place / "rows.jsonl", program=MUTANTS)
    before, (reader, writer) = state(place), os.pipe()
    targets = "\n".join(str(place / name) for name in (*FILES, *FOLDERS))
    words = ["worker", "--describe", module, "double/cpu_writes_files", "--replies", str(writer)]
    environment = {**os.environ, "RUNGS_MUTANT_TARGETS": targets}
    done = subprocess.run([MUTANTS, *words], pass_fds=[writer], env=environment, capture_output=True, text=True)
    os.close(writer)
    expect(b"writes where it must not" in os.read(reader, 65536), "it was asked", done)
    os.close(reader)
    expect(state(place) == before, "every file is as it was")


def test_the_attack_would_show(place):
    """The same outside a worker."""
    before = state(place)
    code = "import os, pathlib, sys; sys.path.insert(0, sys.argv[1]); import peer_writes_files; peer_writes_files.attack_all()"
    environment = {**os.environ, "RUNGS_MUTANT_TARGETS": "\n".join(str(place / name) for name in (*FILES, *FOLDERS))}
    (place / "rows.jsonl").write_text("")
    subprocess.run(
        [sys.executable, "-c", code, SOURCE / "tests/mutants/double"],
        env={**environment, "PYTHONPATH": str(SOURCE / "tests/mutants/common"), "PYTHONDONTWRITEBYTECODE": "1"},
        check=True,
    )
    changed = {
        path for path, what in before.items() if not path.exists() or (path.read_bytes(), path.is_symlink()) != what
    }
    expect(
        {path.name for path in changed} >= {"scenario.yaml", "0123456789abcdef", "numpy.py", "HEAD", "rungs-mutants"},
        changed,
    )
    expect((place / "cache/planted").exists(), "and a file is planted")


def test_without_landlock_it_is_said_and_nothing_is_kept(folder):
    source, library = folder / "none.c", folder / "none.so"
    source.write_text(NO_LANDLOCK)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(library), "RUNGS_CACHE": str(folder / "cache")}
    done = call("doctor", env=environment)
    expect("no  workers      not confined: this kernel has no Landlock" in done.stdout, "doctor says it", done)
    if not has_landlock():
        return
    for n in ("1e6", "1e7"):  # a reference that takes long enough to be kept
        run = (
            "run",
            f"ewm n={n} span=20 agg=std",
            "--variants",
            "cpu_sequential",
            "--verify-only",
            "--no-ceilings",
            "--out",
        )
        done = call(*run, folder / "held.jsonl", env={**environment, "LD_PRELOAD": ""})
        if (folder / "cache").exists():
            break
    expect(list((folder / "cache").iterdir()), "with Landlock this reference is kept", done)
    shutil.rmtree(folder / "cache")
    done = call(*run, folder / "free.jsonl", env=environment)
    expect([row["confined"] for row in rows_of(folder / "free.jsonl")] == [False], "the row says it", done)
    expect(not (folder / "cache").exists(), "no reference is kept")


@pytest.mark.parametrize("how", ["file", "shm", "sysv", "queue", "key", "outputs", "library"])
def test_no_worker_leaves_word_for_the_next(place, how):
    """A mutant that finds what another worker left computes nothing."""
    if how in ("file", "shm", "library") and not has_landlock():
        pytest.skip("this kernel has no Landlock")
    for left in pathlib.Path("/dev/shm").glob("rungs_mutant_word*"):
        left.unlink()  # what an earlier run left is no word of this one
    for turn in range(2):
        out = place / "rows.jsonl"
        out.unlink(missing_ok=True)
        mutant = "peer_cheat_word" if how == "library" else "cpu_cheat_word"
        names = "peer_cheat_word" if how == "library" else f"cpu_cheat_warm_up,cpu_cheat_word how={how}"
        done = call("run", "double n=20011", "--variants", names, "--verify-only", "--out", out, program=MUTANTS)
        said = {row["variant"]: (row["verdict"], row["reason"]) for row in rows_of(out)}
        expect(said[f"double/{mutant}"][0] == "pass", f"turn {turn}: {said}", done)
