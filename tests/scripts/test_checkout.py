"""What counts as a change of a checkout: what a build of it would hold, and nothing that lies beside. Asking runs nothing of the checkout's choice."""

import runpy
import subprocess

import pytest
from program import SOURCE

GIT = runpy.run_path(str(SOURCE / "cmake/checkout.py"))
HARMLESS = ":"
PROGRAM = """printf '#!/bin/sh\\ntouch "%s/ran"; cat\\n' "$PWD/.." >program && chmod +x program
git config core.fsmonitor "$PWD/program" && git config core.hooksPath "$PWD"
git config filter.f.clean "$PWD/program" && git config filter.f.required true
echo '*.c filter=f' >.git/info/attributes && sleep 0.01 && touch impls/op/cpu_a.c"""


def shell(folder, command):
    subprocess.run(["sh", "-ec", command], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "checkout"
    folder.mkdir()
    shell(
        folder,
        "git init -q && mkdir -p impls/op results docs && touch impls/op/cpu_a.c results/old.jsonl docs/a.md REPORT.md && git add . && "
        "git -c user.name=t -c user.email=t@t commit -q -m one",
    )
    return folder


@pytest.mark.parametrize(
    "change, told",
    [
        (HARMLESS, ""),
        ("echo x >>impls/op/cpu_a.c", " M impls/op/cpu_a.c"),
        ("echo x >>docs/a.md", " M docs/a.md"),
        ("touch impls/op/cuda_b.cu", "impls/op/cuda_b.cu"),  # the build would take it
        ("echo x >>impls/op/cpu_a.c; touch impls/op/cuda_b.cu", " M impls/op/cpu_a.c"),
        ("mkdir ab && touch ab/base.jsonl rows.jsonl notes.txt", ""),
        ("touch results/new.jsonl", ""),
        ("echo x >>results/old.jsonl; echo x >>REPORT.md", ""),
    ],
)
def test_changes(checkout, change, told):
    shell(checkout, change)
    assert GIT["changes"](checkout) == told


def test_a_commit_has_a_name(checkout):
    assert len(GIT["commit"](checkout)) == 40
    assert GIT["commit"](checkout) == GIT["commit"](checkout, "HEAD")
    assert GIT["commit"](checkout, "no-such-name") is None


def test_a_folder_within_a_checkout_is_none(checkout):
    assert GIT["commit"](checkout / "impls") is None
    assert GIT["changes"](checkout / "impls") is None


def test_programs_of_the_checkout_are_not_run(checkout):
    shell(checkout, PROGRAM)
    assert GIT["changes"](checkout) == ""
    assert GIT["commit"](checkout)
    assert not (checkout.parent / "ran").exists()
    shell(checkout, "git status --porcelain")
    assert (checkout.parent / "ran").exists()  # they would


def test_the_header_is_touched_only_when_it_changes(checkout, tmp_path):
    header = tmp_path / "commit.h"
    GIT["main"](checkout, header)
    before = header.stat()
    assert header.read_text() == f'#define PROGRAM_COMMIT "{GIT["commit"](checkout)}"\n#define PROGRAM_DIRTY "no"\n'
    GIT["main"](checkout, header)
    assert header.stat().st_mtime_ns == before.st_mtime_ns
    shell(checkout, "echo x >>impls/op/cpu_a.c")
    GIT["main"](checkout, header)
    assert "yes" in header.read_text()
