"""A file under impls/ or reference/ whose name or descriptor does not fit its path: one sentence names it and the fix."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

from program import SOURCE, expect

OP = '#include "op.h"\n/* RUNGS_OP(wrong) = {0}; in a comment */\nRUNGS_OP(double) = {\n    .name = "double",\n};\n'
CUDA = "RUNGS_VARIANT(double,\n              cuda_naive) = {0};\n"
PEER = 'VARIANT = {"summary": "NumPy", "origin": "NumPy", "framework": "numpy"}\n'
GOOD = {
    "reference/double.c": OP,
    "reference/helper.c": "int helper;\n",
    "impls/common/shared.h": "",
    "impls/common/strings/gather.cuh": "",
    "impls/double/_shared.c": "",
    "impls/double/cpu_loop.c": "/* RUNGS_VARIANT(rolling, cpu_loop) */\nconst char q = '\"';\nRUNGS_VARIANT(double, cpu_loop) = {0};\n",
    "impls/double/cuda_naive.cu": CUDA,
    "impls/double/peer_numpy.py": PEER,
}
# What is planted beside the good files, and the one line that is expected.
BAD = [
    ({"impls/double/openmp.c": ""}, "impls/double/openmp.c: the build ignores this name; rename it to cpu_openmp.c"),
    ({"impls/double/tile.cu": ""}, "impls/double/tile.cu: the build ignores this name; rename it to cuda_tile.cu"),
    ({"impls/double/numpy.py": ""}, "impls/double/numpy.py: the build ignores this name; rename it to peer_numpy.py"),
    (
        {"impls/double/cpu_fast.cu": ""},
        "impls/double/cpu_fast.cu: cpu_* ends in .c, .cu begins with cuda_: rename it to cpu_fast.c or to cuda_fast.cu",
    ),
    ({"impls/double/tile.cuh": ""}, "impls/double/tile.cuh: rename it to _tile.cuh"),
    (
        {"impls/double/cpu_fast.cc": ""},
        "impls/double/cpu_fast.cc: not a variant; expected cpu_NAME.c, cuda_NAME.cu, peer_NAME.py",
    ),
    ({"impls/double/fast/cpu_fast.c": ""}, "impls/double/fast: a folder; a variant is one file"),
    (
        {"impls/cpu_fast.c": ""},
        "impls/cpu_fast.c: a variant lies in the folder of its op: move it to impls/OP/cpu_fast.c",
    ),
    (
        {"impls/double/cpu_fast.c": "RUNGS_VARIANT(double, cpu_loop) = {0};"},
        "impls/double/cpu_fast.c: the descriptor is RUNGS_VARIANT(double, cpu_loop), the path requires RUNGS_VARIANT(double, cpu_fast): change one of them",
    ),
    (
        {"impls/double/cpu_fast.c": "RUNGS_VARIANT(rolling, cpu_fast) = {0};"},
        "impls/double/cpu_fast.c: the descriptor is RUNGS_VARIANT(rolling, cpu_fast), the path requires RUNGS_VARIANT(double, cpu_fast)",
    ),
    (
        {"impls/double/cpu_fast.c": "// RUNGS_VARIANT(double, cpu_fast)\n"},
        "impls/double/cpu_fast.c: no descriptor; end the file with RUNGS_VARIANT(double, cpu_fast) = {...};",
    ),
    (
        {
            "impls/double/cpu_fast.c": "RUNGS_VARIANT(double, cpu_fast) = {0};\nRUNGS_VARIANT(double, cpu_faster) = {0};\n"
        },
        "impls/double/cpu_fast.c: 2 descriptors; one file is one variant",
    ),
    ({"impls/double/Cpu-fast.c": ""}, "impls/double/Cpu-fast.c: the build ignores this name"),
    (
        {"impls/dubble/cpu_loop.c": "RUNGS_VARIANT(dubble, cpu_loop) = {0};"},
        "impls/dubble: no op 'dubble' (did you mean double?): rename the folder, or write reference/dubble.c with RUNGS_OP(dubble)",
    ),
    ({"impls/axpy/peer_numpy.py": PEER}, "impls/axpy: no op 'axpy' (known: double)"),
    (
        {"reference/double/op.c": "RUNGS_OP(double) = {0};"},
        "reference/double/op.c: reference/double.c defines the op 'double' too: remove one of them",
    ),
    (
        {"reference/triple.c": "RUNGS_OP(double) = {0};"},
        "reference/triple.c: the descriptor is RUNGS_OP(double), the path requires RUNGS_OP(triple): change one of them",
    ),
    ({"impls/double/peer_empty.py": ""}, "impls/double/peer_empty.py: no VARIANT dictionary"),
    (
        {"more/double/cpu_loop.c": "RUNGS_VARIANT(double, cpu_loop) = {0};"},
        "more/double/cpu_loop.c: impls/double/cpu_loop.c has the same name: rename one of them",
    ),
]
# What rungs_add_project has defined before it calls rungs_registry, and no compiler but C's.
PROJECT = """cmake_minimum_required(VERSION 3.24)
project(planted LANGUAGES C)
foreach(library planted_reference planted_impls_shared planted_language)
    add_library(${library} INTERFACE)
endforeach()
file(GLOB references ${PROJECT_SOURCE_DIR}/reference/*.c)
set_target_properties(planted_reference PROPERTIES RUNGS_FOLDER ${PROJECT_SOURCE_DIR} RUNGS_REFERENCES "${references}")
set(RUNGS_TOOLS ${PROJECT_SOURCE_DIR}/cmake)
include(cmake/registry.cmake)
rungs_registry(planted planted impls)
add_custom_target(tables DEPENDS ${CMAKE_BINARY_DIR}/planted_registry.c)
"""


def plant(tree, files):
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)


def generate(tree):
    folders = [tree / "impls", tree / "more"]
    found = {
        name: sorted(path for folder in folders for path in folder.glob(pattern))
        for name, pattern in {
            "c": "*/cpu_*.c",
            "cuda": "*/cuda_*.cu",
            "peers": "*/peer_*.py",
            "all": "*/*",
            "misplaced": "*.c",
        }.items()
    }
    variants = [*found["c"], *found["cuda"]]
    others = [path for path in found["all"] if path not in variants and path not in found["peers"]]
    return subprocess.run(
        [
            sys.executable,
            SOURCE / "cmake/generate_registry.py",
            "--source",
            tree,
            "--out",
            tree / "registry.c",
            "--variants",
            *variants,
            "--peers",
            *found["peers"],
            "--references",
            *sorted((tree / "reference").rglob("*.c")),
            "--others",
            *others,
            "--misplaced",
            *found["misplaced"],
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )


def generator(folder):
    plant(folder / "good", GOOD)
    done = generate(folder / "good")
    tables = (folder / "good/registry.c").read_text() if done.returncode == 0 else ""
    expect(
        all(
            name in tables
            for name in ("&rungs_op_double,", '"double/cpu_loop"', '"double/cuda_naive"', '"double/peer_numpy"')
        ),
        "a good tree has its tables",
        done,
    )
    expect("wrong" not in tables and "helper" not in tables, "comments and helpers are no descriptors")
    for number, (files, expected) in enumerate(BAD):
        tree = folder / f"bad{number}"
        plant(tree, {**GOOD, **files})
        done = generate(tree)
        said = done.stderr.replace(f"{tree}/", "")
        expect(
            done.returncode == 1
            and said.startswith(expected)
            and said.count("\n") == 1
            and not (tree / "registry.c").exists(),
            expected,
            done,
        )
    plant(folder / "two", {**GOOD, **BAD[0][0], **BAD[1][0]})
    expect(generate(folder / "two").stderr.count("the build ignores this name") == 2, "one line for each of two")


def build(folder):
    """The build passes such files to the generator, and notices when they come and go."""
    tree = folder / "built"
    plant(
        tree,
        {
            **GOOD,
            "CMakeLists.txt": PROJECT,
            "impls/common/__pycache__/x.pyc": "",
            "impls/double/.cpu_loop.c.swp": "",
            "impls/double/cpu_loop.c~": "",
        },
    )
    shutil.copytree(SOURCE / "cmake", tree / "cmake")

    def make():
        return subprocess.run(
            ["cmake", "--build", tree / "build", "--target", "tables"], capture_output=True, text=True, timeout=120
        )

    done = subprocess.run(
        [
            "cmake",
            "-G",
            "Ninja",
            "-S",
            tree,
            "-B",
            tree / "build",
            f"-DPython3_EXECUTABLE={sys.executable}",
            "-DRUNGS_CPU_ARCHITECTURE=native",
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    expect(done.returncode == 0, "the planted project is configured", done)
    done = make()
    expect(done.returncode == 0, "hidden files, backups and __pycache__ are no variants", done)
    stray = tree / "impls/double/openmp.c"
    stray.write_text("RUNGS_VARIANT(double, cpu_openmp) = {0};\n")
    done = make()
    expect(
        done.returncode != 0
        and "impls/double/openmp.c: the build ignores this name; rename it to cpu_openmp.c" in done.stdout,
        "the build names a stray file",
        done,
    )
    stray.rename(stray.with_name("cpu_openmp.c"))
    done = make()
    expect(
        done.returncode == 0 and '"double/cpu_openmp"' in (tree / "build/planted_registry.c").read_text(),
        "renamed, it is a variant",
        done,
    )


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        generator(folder)
        build(folder)


if __name__ == "__main__":
    main()
