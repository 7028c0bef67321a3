"""60 public .cu files of other repositories, unchanged, by `rungs try`. Outside CI; nothing that is fetched is kept in the repository.

    others.py draw MIRROR SEED              prints lines repository@commit:path, by the rule below
    others.py try LIST MIRROR OUT [WORD...] tries those (whose paths have one of the words), one at a time; adds a line of JSON for each to OUT
    others.py table OUT                     counts, and what each did

MIRROR: the folder of clones, each OWNER+NAME/repo. The rule, written before the first attempt:

- Drawn are .cu files with a __global__ function of REPOSITORIES (in ladders whose kernels are headers: .cuh), by sha256 of "SEED/REPOSITORY/PATH", at most MOST from each. First PTX
  files with inline PTX or wmma, then until there are GROUPS with cooperative groups or CUB, then until there are SHARED with dynamic shared memory, then until there are ALL.
- Not drawn: files whose text names another library of OTHERS (rungs refuses those by name); PyTorch's headers are not among them.
- A file is tried with the other sources of its folder if exactly one of them has main(), else alone. Flags are those of REPOSITORIES; PyTorch's headers for files that include them.
- OPS: the program of a project with the ops of tests/samples/ops and of examples/llm (`rungs build`), beside `double`.
- It compiles if it is started, or if nothing but main() is missing. It runs if a kernel runs to its end and the program ends by itself within SECONDS of processor time (at the first attempt: 40 s by the clock) with exit code 0 and no
  failure in its last words, or with a fault that rungs found in a kernel. others.json has for some the words of the command line, numbers of the source that are made smaller
  (the table marks it), the other sources and flags of its build, and the call that binds a kernel to an op: a file that is bound and verified has run, and the table marks it.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import samples

ALL, MOST, SHARED, GROUPS, PTX, SECONDS = 60, 4, 20, 10, 8, 60
CU, CUH = r".*\.cu", r".*\.cuh?"
REPOSITORIES = {  # which paths, flags (relative to the clone's root)
    "NVIDIA/cuda-samples": (CU, ["-ICommon"]),
    "NVIDIA-developer-blog/code-samples": (CU, []),
    "PacktPublishing/Learn-CUDA-Programming": (CU, ["-INVIDIA/cuda-samples:Common"]),
    "CoffeeBeforeArch/cuda_programming": (CU, []),
    "CodedK/CUDA-by-Example-source-code-for-the-book-s-examples-": (CU, []),
    "brucefan1983/CUDA-Programming": (CU, []),
    "deeperlearning/professional-cuda-c-programming": (CU, []),
    "olcf/cuda-training-series": (CU, []),
    "karpathy/llm.c": (r"dev/cuda/.*\.cu", []),
    "siboehm/SGEMM_CUDA": (CUH, ["-Isrc"]),
    "wangzyon/NVIDIA_SGEMM_PRACTICE": (CUH, ["-Isrc"]),
    "yzhaiustc/Optimizing-SGEMM-on-NVIDIA-Turing-GPUs": (CUH, ["-Iinclude"]),
    "leimao/CUDA-GEMM-Optimization": (CU, ["-Iinclude"]),
    "Bruce-Lee-LY/cuda_hgemm": (CU, ["-Isrc/common"]),
    "Bruce-Lee-LY/cuda_hgemv": (CU, ["-Isrc/common"]),
    "nicolaswilde/cuda-tensorcore-hgemm": (CU, []),
    "Liu-xiandong/How_to_optimize_in_GPU": (CU, []),
    "Tongkaio/CUDA_Kernel_Samples": (CU, []),
    "BBuf/how-to-optim-algorithm-in-cuda": (CU, []),
    "xlite-dev/LeetCUDA": (CU, []),
    "gpu-mode/lectures": (CU, []),
    "66RING/tiny-flash-attention": (CU, []),
    "tspeterkim/flash-attention-minimal": (CU, []),
    "godweiyang/NN-CUDA-Example": (CU, ["-Iinclude"]),
    "pytorch/extension-cpp": (CU, []),
    "erikwijmans/Pointnet2_PyTorch": (CU, ["-Ipointnet2_ops_lib/pointnet2_ops/_ext-src/include"]),
}
OTHERS = re.compile(
    r"\bcu(blas|fft|sparse|rand|dnn|solver|tensor)|nccl|mpi\.h|nvrtc|cutlass|\bcute/|opencv|GL/|vulkan|nvsci|nvToolsExt|\bnpp\w*\.h|boost/|d3d|\.fatbin",
    re.IGNORECASE,
)
KINDS = {
    "ptx": (PTX, re.compile(r"\b(asm|__asm__)\b|wmma")),
    "groups": (GROUPS, re.compile(r"cooperative_groups|\bcub/|\bcub::")),
    "shared": (SHARED, re.compile(r"\bextern\b[^;\n]*__shared__")),
    "any": (ALL, re.compile("")),
}
MAIN = re.compile(r"^[ \t]*(int|void)?\s*main\s*\(", re.MULTILINE)
TORCH = re.compile(r"#\s*include\s*[<\"](torch|ATen|c10)/")
OPS = os.environ.get("OPS", samples.RUNGS)
SOURCE = ".cu", ".cpp", ".cc", ".c"


def clone(mirror, repository):
    return pathlib.Path(mirror) / repository.replace("/", "+") / "repo"


def candidates(mirror, seed):
    """Of each file: the key of the shuffle, its line, its repository, and its kinds."""
    for repository, (pattern, _) in REPOSITORIES.items():
        folder = clone(mirror, repository)
        commit = samples.git(folder, "rev-parse", "HEAD").decode().strip()
        for path in samples.git(folder, "ls-tree", "-r", "--name-only", "HEAD").decode().splitlines():
            if re.fullmatch(pattern, path):
                text = samples.git(folder, "show", f"HEAD:{path}").decode(errors="replace")
                if "__global__" in text and not OTHERS.search(text):
                    key = hashlib.sha256(f"{seed}/{repository}/{path}".encode()).hexdigest()
                    kinds = {kind for kind, (_, found) in KINDS.items() if found.search(text)}
                    yield key, f"{repository}@{commit}:{path}", repository, kinds


def draw(mirror, seed):
    found, chosen = sorted(candidates(mirror, seed)), []
    for kind, (wanted, _) in KINDS.items():
        for one in found:
            if sum(kind in kinds for *_, kinds in chosen) >= wanted:
                break
            if one not in chosen and kind in one[3] and sum(one[2] == other[2] for other in chosen) < MOST:
                chosen.append(one)
    for _, line, _, kinds in sorted(chosen):
        print(line, *sorted(kinds - {"any"}))


def torch_flags(texts, wanted):
    if not wanted and not any(TORCH.search(text) for text in texts):
        return []
    headers = subprocess.run(
        [
            os.environ["RUNGS_PYTHON"],
            "-c",
            "import sysconfig, torch.utils.cpp_extension as c; print(*c.include_paths(), sysconfig.get_paths()['include'])",
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    return ["-std=c++20", "-DTORCH_EXTENSION_NAME=it", *(word for folder in headers for word in ("-isystem", folder))]


def attempt(here, sources, flags, words, more=(), kind="address"):
    argv = [
        OPS if more and "double" not in more else samples.RUNGS,
        "try",
        *sources,
        *flags,
        *(more or ["--emulator", kind]),
        "--no-sandbox",
    ]
    code, stdout, stderr, said = samples.ran([*argv, *(["--", *words] if words else [])], here, SECONDS)
    if code in samples.ENDED:
        return {"code": None, "said": f"not within {SECONDS} s of processor time", "compiles": True, "runs": False}
    faults = [line for line in stderr.splitlines() if line.startswith("rungs-emulator: ") and "(replay: " in line]
    table = re.split(r"(?:^|\n)\nkernel +launches", stderr)[1:]
    launched = any(re.match(r"(?!\(host code\)).* [1-9]\d* +\d+ +\d+  ", line) for line in "".join(table).splitlines())
    own_check = re.search(r"\bFAIL(ED|URE)?\b|\bfailed\b|\bincorrect\b|mismatch", stdout[-1000:], re.IGNORECASE)
    ended = code == 0 and not own_check
    kernel_fault = bool(faults) and "host code" not in faults[0]
    return {
        "code": code,
        "said": said,
        "faults": faults[:3],
        "compiles": bool(table) or said.endswith("there is no main()"),
        "runs": bool(table) and ((launched and ended) or kernel_fault),
        "tail": (stdout + stderr)[-800:],
    }


def bound(here, path, flags, facts):
    """Verified if a row says so; its words are kept."""
    form = "call" if "call" in facts else "launch"
    more = ["--op", facts["op"], f"--{form}", facts[form], "--emulate", "--verify-only"]
    found = attempt(here, [path, *facts.get("case", [])], flags, [], more)
    found["verified"] = found["code"] == 0 and "verified" in found.get("tail", "")
    return found


def extract(folder, commit, path, to):
    """All headers, and what is below the file's folder; of a clone that lacks large files, the sources."""
    parent = str(pathlib.PurePath(path).parent)
    paths = samples.git(folder, "ls-tree", "-r", "--name-only", commit).decode().splitlines()
    below = [p for p in paths if p.startswith(f"{parent}/") or parent == "."]
    wanted = {p for p in paths if p.endswith((".h", ".cuh", ".hpp", ".inl", ".inc", "_utils.cu"))} | {path}
    for more in (below, [p for p in below if p.endswith(SOURCE)]):
        with contextlib.suppress(subprocess.CalledProcessError):
            return samples.extract(folder, commit, sorted(wanted | set(more)), to)


def flag_of(flag, root, mirror):
    """-IFOLDER of the clone, or -IREPOSITORY:FOLDER of another one's."""
    if not flag.startswith("-I"):
        return str(root / flag) if (root / flag).is_file() else flag
    repository, _, name = flag[2:].rpartition(":")
    if not repository:
        return f"-I{root / name}"
    samples.extract(clone(mirror, repository), "HEAD", [name], root / "other")
    return f"-I{root / 'other' / name}"


def try_one(line, mirror, facts):
    repository, commit, path = re.fullmatch(r"(.+?)@(\w+):([^ ]+)(?: .*)?", line).groups()
    folder = clone(mirror, repository)
    with tempfile.TemporaryDirectory(prefix="sample-") as to:
        root = pathlib.Path(to)
        extract(folder, commit, path, to)
        here = (root / path).parent
        texts = {
            file.name: file.read_text(errors="replace") for file in sorted(here.iterdir()) if file.suffix in SOURCE
        }
        name = pathlib.PurePath(path).name
        texts.setdefault(name, (root / path).read_text(errors="replace"))
        mains = [one for one, text in texts.items() if MAIN.search(text)]
        together = len(mains) == 1 and pathlib.PurePath(path).suffix == ".cu"
        files = [*mains, *(one for one in texts if one not in mains)] if together else [name]
        files = [name, *facts["with"]] if "with" in facts else files
        for wrong, right in facts.get("smaller", {}).items():
            for one in files:
                (here / one).write_text(re.sub(wrong, right, (here / one).read_text(errors="replace")))
        for one, text in facts.get("files", {}).items():
            (here / one).write_text(text)
        flags = [flag_of(flag, root, mirror) for flag in [*REPOSITORIES[repository][1], *facts.get("flags", [])]]
        flags += torch_flags([texts[one] for one in files], facts.get("torch", False))
        found = attempt(here, files, flags, facts.get("words", []), kind=facts.get("emulator", "address"))
        if "op" in facts:
            found["bound"] = bound(here, name, flags, facts)
            found["compiles"] = found["compiles"] or found["bound"]["verified"]
        return {"file": line.split()[0], "smaller": "smaller" in facts, **found}


def main():
    verb, words = sys.argv[1], sys.argv[2:]
    if verb == "draw":
        draw(*words)
    elif verb == "try":
        lines = [line for line in pathlib.Path(words[0]).read_text().splitlines() if line]
        about = json.loads((pathlib.Path(__file__).parent / "others.json").read_text())
        with open(words[2], "a") as out:
            for line in lines:
                if not words[3:] or any(word in line for word in words[3:]):
                    facts = about.get(re.sub("@[^:]*", "", line.split()[0]), {})
                    print(json.dumps(try_one(line, words[1], facts)), file=out, flush=True)
    else:
        rows = {row["file"]: row for row in map(json.loads, pathlib.Path(words[0]).read_text().splitlines())}.values()
        verified = [row.get("bound", {}).get("verified", False) for row in rows]
        ran = sum(row["runs"] or bool(bound_) for row, bound_ in zip(rows, verified))
        print(
            f"{len(rows)} files, {sum(row['compiles'] for row in rows)} compile, {ran} run, {sum(verified)} bound and verified"
        )
        for row, bound_ in zip(rows, verified):
            state = "run" if row["runs"] else "compiled" if row["compiles"] else "refused"
            marks = " (smaller)" * row["smaller"] + " bound" * bound_
            why = (
                row["said"] or "; ".join(row.get("faults", [])) or row.get("tail", "")[-200:]
                if state != "run" or row.get("faults")
                else ""
            )
            print(
                f"{row['file'].split('@')[0]} {row['file'].split(':')[1]}: {state}{marks}, exit code {row['code']} {why[:300]!r}"
            )


if __name__ == "__main__":
    main()
