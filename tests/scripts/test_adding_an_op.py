"""The pages that say how to add an op and a variant do as they say: the files of template/ that they copy, and the README's variant, are built,
verified and run with the pages' own commands.

The op is compiled as the build compiles its neighbours and linked with its libraries into a program that has it besides; its variants are modules.
"""

import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from program import BUILD, SOURCE, call, expect, expect_error

PAGE = SOURCE / "docs/ADDING_AN_OP.md"
LINES_MAX = 90
NEIGHBOURS = ["reference/vector.h", "reference/double.c", "impls/double/cpu_loop.c"]


def block(page, path, language):
    """The fenced block below the first mention of a path."""
    found = re.search(rf"`{re.escape(path)}`.*?```{language}\n(.*?)```", (SOURCE / page).read_text(), re.DOTALL)
    expect(found, f"{page} shows {path}")
    return found[1]


FILES = {path: (SOURCE / "template" / path).read_text() for path in ("reference/axpy.c", "impls/axpy/cpu_loop.c")}


def test_the_page_copies_files_that_are_short():
    assert all(f"template/{path}" in PAGE.read_text() for path in FILES)
    assert sum(text.count("\n") for text in FILES.values()) <= LINES_MAX


def write_tree(tree):
    files = dict(FILES)
    files["impls/double/cpu_openmp.c"] = block("docs/ADDING_A_VARIANT.md", "impls/double/cpu_openmp.c", "c")
    for path, text in {**files, **{path: (SOURCE / path).read_text() for path in NEIGHBOURS}}.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)


@pytest.mark.parametrize("path", FILES)
def test_files_of_the_page_are_laid_out_as_the_tree(path):
    """As test_format.sh wants it; where clang-format 14 is not, it skips too."""
    formatter = next((name for name in ("clang-format-14", "clang-format") if shutil.which(name)), None)
    if (
        not formatter
        or "version 14." not in subprocess.run([formatter, "--version"], capture_output=True, text=True).stdout
    ):
        pytest.skip("clang-format 14 is not installed")
    words = [formatter, f"-style=file:{SOURCE}/.clang-format", "--dry-run", "-Werror", SOURCE / "template" / path]
    told = subprocess.run(words, capture_output=True, text=True)
    expect(told.returncode == 0, f"{path} is laid out as the tree", told)


def ninja_command(target):
    done = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", target], capture_output=True, text=True, timeout=60)
    expect(done.returncode == 0, f"the build knows how to make {target}")
    return shlex.split(done.stdout.splitlines()[-1].replace(": && ", "").replace(" && :", ""))


def run(*words):
    done = subprocess.run([str(word) for word in words], cwd=BUILD, capture_output=True, text=True, timeout=240)
    expect(done.returncode == 0, f"{pathlib.Path(words[0]).name} {pathlib.Path(words[-1]).name}", done)


class Builder:
    """A program with the op of the page, in a folder as that of a build: its variants are those of the tree."""

    def __init__(self, tree):
        self.tree = tree
        self.reference = ninja_command("CMakeFiles/rungs_reference.dir/reference/double.c.o")
        self.link = ninja_command("bin/rungs")
        settings = json.loads((BUILD / "modules/settings.json").read_text())
        (tree / "modules").mkdir(exist_ok=True)
        settings |= {"root": str(tree), "program": str(tree / "rungs"), "build": ""}
        settings["compile"] = {"c": self.without_folder(settings)}
        (tree / "modules/settings.json").write_text(json.dumps(settings))
        (tree / "rungs-places").write_text(f"project {tree}\nharness {SOURCE}\nlibraries {BUILD / 'lib'}\n")

    def without_folder(self, settings):
        """How the build compiles a variant; messages name files below the tree."""
        sys.path.append(str(SOURCE / "cmake"))
        import modules

        words = modules.Project(BUILD / "modules").compiler("c")
        return [word.replace(f"{SOURCE}/=", f"{self.tree}/=") for word in words]

    def compile(self, command, path):
        """With the flags of a neighbour; only the file, the object and the record of its headers are other ones."""
        words = list(command)
        for option in ("-MT", "-MF"):
            at = words.index(option)
            del words[at : at + 2]
        words.remove("-MD")
        words[words.index("-o") + 1] = f"{path}.o"
        words[words.index("-c") + 1] = str(path)
        run(*words)
        return f"{path}.o"

    def program(self):
        reference = self.compile(self.reference, self.tree / "reference/axpy.c")
        at = self.link.index("-o")
        run(*self.link[:at], reference, *self.link[at + 2 :], "-o", self.tree / "rungs")
        return self.tree / "rungs"


@pytest.fixture(scope="module")
def tree(shared_folder):
    tree = shared_folder / "tree"
    write_tree(tree)
    (shared_folder / "examples").symlink_to(SOURCE / "examples")
    return tree


@pytest.fixture(scope="module")
def program(tree):
    return Builder(tree).program()


@pytest.fixture
def workplace(program):
    """Where the commands of the page are called."""
    return program.parent.parent


def test_commands_of_the_page(workplace, program):
    """The page's own, of which `run` gets a file for its rows and takes few samples."""
    told = [shlex.split(line)[1:] for line in re.findall(r"^    (\./rungs .*)$", PAGE.read_text(), re.MULTILINE)]
    expect([words[0] for words in told] == ["list", "run", "exec"], "the page lists, runs and executes axpy")
    quick = ["--quick", "--no-ceilings", "--no-counts", "--out", workplace / "rows.jsonl"]
    for words in told:
        done = call(*words, *(quick if words[0] == "run" else []), program=program, cwd=workplace)
        expect(done.returncode == 0 and "axpy" in done.stdout + " ".join(words), f"rungs {' '.join(words)}", done)
    data = workplace / "examples/data"
    np.testing.assert_allclose(
        np.load(workplace / "z.npy"), 0.5 * np.load(data / "x.npy") + np.load(data / "y.npy"), rtol=1e-15
    )


def verified(folder, program):
    """The page's scenario, and the families that it leaves out."""
    lines = re.search(r"^ {8}title: .*?\n(?! {8})", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (folder / "axpy.yaml").write_text(textwrap.dedent(lines[0]))
    cases = [f"axpy n=10007 dtype={dtype} input={family}" for dtype in ("f64", "f32") for family in ("normal", "mixed")]
    return call(
        "run",
        "axpy.yaml",
        *cases,
        "--verify-only",
        "--no-ceilings",
        "--out",
        folder / "edges.jsonl",
        program=program,
        cwd=folder,
    )


def test_every_family_size_and_dtype_is_within_its_bound(workplace, program):
    expect((done := verified(workplace, program)).returncode == 0, "axpy is right", done)


def test_what_is_wrong_is_told(workplace, program):
    folder = workplace
    np.save(folder / "short.npy", np.zeros(5))
    words = ["exec", "axpy/cpu_loop", "--in", "x=examples/data/x.npy", "--out", "z=never.npy"]
    expect_error(call(*words, program=program, cwd=folder), 2, "input 'y' is missing")
    expect_error(
        call(*words, "--in", "y=short.npy", program=program, cwd=folder),
        2,
        "'y' is f64[5]",
        "the other inputs require f64[1000]",
    )
    expect(not (folder / "never.npy").exists(), "a refused call writes nothing")


def test_the_library_variant():
    """The three functions of a library variant, as the worker calls them."""
    names = {}
    exec((SOURCE / "template/impls/axpy/peer_numpy.py").read_text(), names)
    case = {"dtype": "f64", "params": {"a": "0.5"}}
    inputs = {"x": np.arange(5.0), "y": np.ones(5)}
    assert names["supports"](case, {}) is None, "it supports every case"
    state = names["prepare"](case, {}, inputs)
    assert (names["run"](state, inputs) == 0.5 * inputs["x"] + 1).all()


def test_the_variant_of_the_readme_is_verified_and_timed(workplace, program):
    words = ("--variants", "cpu_*", "--quick", "--no-ceilings", "--no-counts", "--out", workplace / "d.jsonl")
    done = call("run", "double n=1e5 dtype=f64", *words, program=program)
    expect(done.returncode == 0 and "double/cpu_openmp" in done.stderr, "the README's cpu_openmp", done)


def test_a_wrong_variant_fails(workplace, program, tree):
    variant = tree / "impls/axpy/cpu_loop.c"
    right = variant.read_text()
    variant.write_text(right.replace("a * x[i] + y[i]", "a * x[i] - y[i]", 1))
    done = verified(workplace, program)
    variant.write_text(right)
    expect(done.returncode == 1, "a wrong axpy fails", done)
