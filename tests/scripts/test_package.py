""".ci/package: the same bytes from two folders, what differs is named; release notes are those of the tag's version. A small tree stands in for this
one; with RUNGS_TEST_FULL=1 this one is packaged twice, without CUDA, and the image is built where podman, buildah or docker can."""

import re
import shutil
import subprocess

import pytest
from program import FULL, SOURCE, expect

CMAKE = """cmake_minimum_required(VERSION 3.24)
project(rungs VERSION 1.2.3 LANGUAGES C)
add_executable(rungs main.c)
install(TARGETS rungs DESTINATION bin)
install(FILES b.txt a.txt DESTINATION share)
PLANTED
set(CPACK_PACKAGE_CONTACT "a test")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
include(CPack)
"""
PATH_IN_A_FILE = """file(WRITE ${CMAKE_BINARY_DIR}/where.txt ${CMAKE_SOURCE_DIR})
install(FILES ${CMAKE_BINARY_DIR}/where.txt DESTINATION share)"""
DEVICE_CODE = 'target_compile_definitions(rungs PRIVATE WHERE="${CMAKE_SOURCE_DIR}")'  # as nvcc's: of this folder
MAIN = """#ifdef WHERE
__attribute__((section(".nv_fatbin"), used)) static const char where[] = WHERE;
#endif
int main(void) { return 0; }
"""
NOTES = "# Changes\n\n## 1.2.4\nlater\n\n## 1.2.3 (2026-01-01)\nThe first.\n\n- one\n\n## 1.2.2\nearlier\n"


def package(tree, *words, **variables):
    return subprocess.run(
        ["env", *(f"{name}={value}" for name, value in variables.items()), tree / ".ci/package", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=3000,
    )


def small_tree(folder, planted=""):
    tree = folder / "tree"
    (tree / ".ci").mkdir(parents=True)
    shutil.copy(SOURCE / ".ci/package", tree / ".ci")
    files = {"main.c": MAIN, "a.txt": "a\n", "b.txt": "b\n", "CHANGELOG.md": NOTES}
    for name, text in {**files, "CMakeLists.txt": CMAKE.replace("PLANTED", planted)}.items():
        (tree / name).write_text(text)
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-C", tree]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], check=True)
    return tree


needs_dpkg = pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="dpkg-deb is not here")


@needs_dpkg
def test_two_folders_give_the_same_bytes(folder):
    out = folder / "out"
    done = package(small_tree(folder), "--twice", out, RUNGS_PACKAGE_KINDS="deb tar", TMPDIR=folder)
    expect(done.returncode == 0 and done.stdout.count("\nsame: ") == 2, "two packages, twice", done)
    sums = [(out / number / "SHA256SUMS").read_text() for number in "12"]
    assert sums[0] == sums[1] and len(sums[0].splitlines()) == 2, sums


@needs_dpkg
def test_what_differs_is_named(folder):
    tree = small_tree(folder, PATH_IN_A_FILE)
    done = package(tree, "--twice", folder / "out", RUNGS_PACKAGE_KINDS="deb tar", TMPDIR=folder)
    expect(done.returncode == 1 and done.stdout.count("\ndiffers: ") == 2, "exit code 1", done)
    named = [line.split("/")[-1] for line in done.stdout.splitlines() if line.startswith("    ")]
    expect(named == ["where.txt"] * 2, "the file's name", done)


@needs_dpkg
def test_what_nvcc_made_may_differ(folder):
    tree = small_tree(folder, DEVICE_CODE)
    done = package(tree, "--twice", folder / "out", RUNGS_PACKAGE_KINDS="deb tar", TMPDIR=folder)
    expect(done.returncode == 0 and done.stdout.count("\ndiffers: ") == 2, "it is named, and no failure", done)
    expect(len(re.findall(r"\n    of nvcc: \S*bin/rungs\n", done.stdout)) == 2, "the program", done)


def test_notes_are_of_the_tag(folder):
    tree = small_tree(folder)
    done = package(tree, "--notes", "v1.2.3")
    expect((done.returncode, done.stdout) == (0, "The first.\n\n- one\n"), "those of 1.2.3 alone", done)
    done = package(tree, "--notes", "v1.2.4")
    expect(done.returncode == 1 and "CMakeLists.txt says 1.2.3" in done.stderr, "a tag of another version", done)
    (tree / "CHANGELOG.md").write_text("# Changes\n\n## 1.2.30\nlater\n")
    done = package(tree, "--notes", "v1.2.3")
    expect(done.returncode == 1 and "no lines under '## 1.2.3'" in done.stderr, "no notes, no release", done)


@pytest.mark.skipif(not FULL, reason="builds four times: with --full")
def test_this_tree(folder):
    done = package(SOURCE, "--twice", folder / "out", "-DRUNGS_CUDA=OFF", "-DRUNGS_EMULATOR=OFF", TMPDIR=folder)
    if "No matching distribution found for scikit-build-core" in done.stdout + done.stderr:
        pytest.skip("pip does not reach scikit-build-core, which builds the wheel")
    expect(done.returncode == 0 and done.stdout.count("\nsame: ") == 3, "deb, tar and wheel", done)
    program = next(filter(shutil.which, ("podman", "buildah", "docker")), None)
    if not program:
        pytest.skip("packages are the same; no podman, buildah or docker for the image")
    (folder / "build").mkdir()
    shutil.copytree(folder / "out/1", folder / "build/packages")
    shutil.copy(SOURCE / "requirements-cuda.txt", folder)
    built = subprocess.run(
        [program, "build", "-f", SOURCE / "Containerfile", "-t", "rungs-tried", folder], capture_output=True, text=True
    )
    if built.returncode and "apt-get" not in built.stdout:
        pytest.skip(f"packages are the same; {program} gets no debian:12-slim here: {built.stderr[-300:]}")
    expect(built.returncode == 0, "the image", built)
