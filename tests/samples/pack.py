"""The folder of programs for sanitizer.py, from the public suites of docs/data/emulator.md, unchanged but for sizes of llm.c. Outside CI; nothing that is fetched is kept.

    pack.py FOLDER SCOR INDIGO SAMPLES LLMC HECBENCH      git folders of clones at the commits of docs/data/emulator.md and races.txt

Indigo's programs are those that its own generator makes; of those with a bug, and of those without, the first 80 by sha256 of "57/FOLDER/FILE".
"""

import hashlib
import json
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import races
import samples

SCOR, INDIGO = "6dc3507ecc419aac6ea3a49ec746b610d5029219", "c95ac19c761f6d1db2c6a247a691cc739468ee2e"
HECBENCH = "f27000a5188f8ac79bd43fc95a1b3f890c18823d"
BUGS = "atomicBug", "boundsBug", "guardBug", "raceBug", "syncBug"
KNOWN = {  # of HeCBench: where the defect is, arguments
    **{
        "tissue": ("kernel", "4 1"),
        "jaccard": ("kernel", "70 40 1"),
        "phmm": ("kernel", "1"),
        "d3q19-bgk": ("kernel", "4"),
    },
    **{"fpdc": ("kernel", "4 2 1 2"), "damage": ("host", "1000 1"), "intrinsics-cast": ("host", "100 1")},
    "dxtc2": ("kernel", "../dxtc2-sycl/data/lena_std.ppm ../dxtc2-sycl/data/lena_ref.dds 1"),
    **{"fpc": ("host", "32 1"), "nqueen": ("host", "6 2 1"), "sheath": ("host", ""), "sosfil": ("kernel", "1")},
    **{"sssp": ("kernel", "-t 1 -w 0 -l 16 -f graph600 -c graph600"), "surfel": ("kernel", "512 16 16 1")},
}
MORE = {"dxtc2": ["../boxfilter-sycl/shrUtils.cpp", "-I", "../boxfilter-sycl"], "sssp": ["kernel.cu"]}
BESIDE = {"dxtc2": ["src/boxfilter-sycl", "src/dxtc2-sycl/data"]}
SEVERAL = "prna", "wordcount", "frna", "heartwall"  # programs of several files
# Of cuBLAS llm.c's programs make handles alone; the emulator has these too.
CUBLAS = """#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
typedef int cublasStatus_t;
typedef void *cublasHandle_t, *cublasLtHandle_t;
enum cublasComputeType_t { CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32 };
enum cublasMath_t { CUBLAS_DEFAULT_MATH, CUBLAS_TF32_TENSOR_OP_MATH };
enum { CUBLAS_STATUS_SUCCESS };
static inline cublasStatus_t cublasCreate(cublasHandle_t *handle) { return *handle = nullptr, 0; }
static inline cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) { return *handle = nullptr, 0; }
static inline cublasStatus_t cublasDestroy(cublasHandle_t) { return 0; }
static inline cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) { return 0; }
"""


def scor(git, to):
    samples.extract(git, SCOR, ["microbenchmarks/src"], to)
    for file in sorted((to / "microbenchmarks/src").iterdir()):
        label = "race" if file.stem.startswith("race_") else "none"
        yield file.stem, "ScoR", label, file.parent, [file.name], []


def indigo_graph():
    """200 vertices, each with neighbours but the first and the last."""
    draw, last = random.Random(57), 199
    sets = [set() for _ in range(last + 1)]
    for u in range(1, last):
        sets[u] = {draw.randrange(1, last) for _ in range(draw.randint(1, 8))} - {u} or {u % (last - 1) + 1}
    for u, neighbours in enumerate(map(list, sets)):
        for v in neighbours:
            sets[v].add(u)
    ends = [0]
    ends += [ends[-1] + sum(map(len, sets[: u + 1])) for u in range(last + 1)]
    numbers = [last + 1, ends[-1], *ends, *(v for neighbours in sets for v in sorted(neighbours))]
    return struct.pack(f"<{len(numbers)}i", *numbers)


def indigo(git, to):
    with tempfile.TemporaryDirectory() as scratch:
        made = pathlib.Path(scratch) / "made"
        made.mkdir()
        samples.extract(git, INDIGO, ["Generators", "copyright.txt"], scratch)
        generators = made.parent / "Generators"
        for source in sorted((generators / "CUDA_sources").iterdir()):
            argv = [sys.executable, "generate_CUDA_codes.py", source, made.parent / "copyright.txt", made]
            subprocess.run(argv, cwd=generators, check=True, capture_output=True)
        shutil.copy(generators / "sources_include/indigo_cuda.h", to)
        (to / "g200").write_bytes(indigo_graph())
        found = sorted(
            made.rglob("*.cu"),
            key=lambda file: hashlib.sha256(f"57/{file.parent.name}/{file.name}".encode()).hexdigest(),
        )
        labels = {file: "+".join(bug for bug in BUGS if bug.lower() in file.stem.lower()) or "none" for file in found}
        for with_bug in (True, False):
            for file in [file for file in found if (labels[file] != "none") == with_bug][:80]:
                shutil.copy(file, to)
                shape = ["64", "256"] if "_block" in file.stem else ["256", "2"]
                yield file.stem, "Indigo", labels[file], to, [file.name], ["g200", *shape]


def sssp_graph():
    draw, nodes = random.Random(57), 600
    edges = [[(draw.randrange(nodes), draw.randint(1, 20)) for _ in range(draw.randint(1, 6))] for _ in range(nodes)]
    starts = [sum(map(len, edges[:node])) for node in range(nodes)]
    lines = [f"{nodes} {sum(map(len, edges))} 0"]
    lines += [f"{start} {len(of)}" for start, of in zip(starts, edges)]
    return "\n".join([*lines, *(f"{other} {cost}" for of in edges for other, cost in of)]) + "\n"


def known(git, to):
    for name, (label, words) in KNOWN.items():
        here = to / f"src/{name}-cuda"
        samples.extract(git, HECBENCH, [f"src/{name}-cuda", *BESIDE.get(name, [])], to)
        if name == "sssp":
            (here / "graph600").write_text(sssp_graph())
        yield name, "HeCBench", label, here, ["main.cu", *MORE.get(name, [])], words.split()


def without_known_races(gits, to):
    for line in (pathlib.Path(__file__).parent / "races.txt").read_text().splitlines():
        repository, commit, path = re.fullmatch(r"(.+)@(.+):(.+)", line).groups()
        if repository not in gits or any(f"/{name}-cuda/" in path for name in SEVERAL):
            continue
        name, (_, _, more, flags) = repository.split("/")[1], races.SUITES[repository]
        top, here = to / name, to / name / pathlib.PurePath(path).parent
        try:
            samples.extract(gits[repository], commit, [str(pathlib.PurePath(path).parent), *more], top)
            texts = [file.read_text(errors="replace") for file in here.iterdir() if file.is_file()]
            beside = {found for text in texts for found in re.findall(r"\.\./([\w-]+)/", text)}
            for folder in sorted(beside) if name == "HeCBench" else []:
                samples.extract(gits[repository], commit, [f"src/{folder}"], top)
        except subprocess.CalledProcessError:
            continue  # the clone lacks its files
        own, words = samples.words_of(here / "Makefile") if name == "HeCBench" else ([], [])
        words = samples.smaller(words, 16)
        if name == "llm.c":
            words = re.findall(r"case (\d+):", (top / path).read_text())[-1:]
            for file in here.glob("*.cu"):
                text = races.SIZES.sub(lambda size: f"int {size[1]} = {races.SMALL.get(size[1], 2)};", file.read_text())
                file.write_text(text)
            flags = [f"-I{'../' * len(here.relative_to(to).parts)}cublas"]
        yield path, name, "unknown", here, [pathlib.PurePath(path).name, *flags, *own], words


def main():
    to, (of_scor, of_indigo, *others) = pathlib.Path(sys.argv[1]), sys.argv[2:]
    gits = dict(zip(races.SUITES, others))
    for name in ("scor", "indigo", "known", "cublas"):
        (to / name).mkdir(parents=True)
    for header in ("cublas_v2.h", "cublasLt.h"):
        (to / "cublas" / header).write_text(CUBLAS if "v2" in header else "#include <cublas_v2.h>\n")
    found = [*scor(of_scor, to / "scor"), *known(others[2], to / "known"), *indigo(of_indigo, to / "indigo")]
    found += without_known_races(gits, to)
    with open(to / "programs.jsonl", "w") as file:
        for program, suite, label, folder, words, arguments in found:
            row = {"program": program, "suite": suite, "label": label, "folder": str(folder.relative_to(to))}
            print(json.dumps(row | {"compile": words, "words": arguments}), file=file)


if __name__ == "__main__":
    main()
