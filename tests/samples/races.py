"""Programs of others without known races, unchanged, in the race detector: what it reports of them. Outside CI; nothing that is fetched is kept.

    races.py draw SEED GIT...        prints lines repository@commit:path, by the rule below
    races.py try LIST OUT GIT...     tries those, two at a time; writes a line of JSON for each to OUT
    races.py table OUT               counts, and what was reported of each

GIT: the git folders of clones of SUITES, in that order. The rule: of each suite the programs (a folder with one .cu file; in llm.c and CUB each .cu file), without those whose text
has a word of OTHERS, by sha256 of "SEED/PATH". Those of llm.c run the last of their kernels. A program that does not compile, or does not end within SECONDS of processor time, is named and counts as neither right nor wrong.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import samples

SUITES = {  # repository: how many are drawn, which paths, what else is needed, flags
    "NVIDIA/cuda-samples": (39, r"Samples/[0-6]_\w+/\w+/\w+\.cu", ["Common"], ["-I../../../Common"]),
    "karpathy/llm.c": (16, r"dev/cuda/\w+\.cu", ["llmc"], []),
    "zjin-lcf/HeCBench": (61, r"src/[\w-]+-cuda/\w+\.cu", [], []),
    "NVIDIA/cccl": (4, r"cub/examples/block/\w+\.cu", [], ["-I../.."]),
}
OTHERS = re.compile(
    r"texture|surface_|cu(blas|fft|sparse|rand|dnn|solver)(Lt)?[A-Z]\w*\(|nccl|mpi\.h|nvrtc|<cuda\.h>|GL/|vulkan|nvsci|IpcMem|cudaGraph|mma\.h|"
    r"cudnn|/cdp|boost",
    re.IGNORECASE,
)
SIZES = re.compile(r"\bint (B|T|C|V|NH|repeat_times|num_repeats?) = \d+;")  # of llm.c, which are for whole GPUs
SMALL = {"T": 32, "C": 128, "V": 130}
SECONDS = int(os.environ.get("RACES_SECONDS", "60"))
EMULATOR = os.environ.get("RACES_EMULATOR", "race")


def drawn(repository, folder, seed):
    count, pattern, *_ = SUITES[repository]
    commit = samples.git(folder, "rev-parse", "HEAD").decode().strip()
    paths = samples.git(folder, "ls-tree", "-r", "--name-only", "HEAD").decode().splitlines()
    found = [path for path in paths if re.fullmatch(pattern, path)]
    if "samples" in repository or "HeCBench" in repository:
        parents = [os.path.dirname(path) for path in found]
        beside = [os.path.dirname(path) for path in paths if path.endswith((".cu", ".cpp", ".ll"))]
        found = [path for path, parent in zip(found, parents) if beside.count(parent) == 1]
    found.sort(key=lambda path: hashlib.sha256(f"{seed}/{path}".encode()).hexdigest())
    left = []
    for path in found:
        text = samples.git(folder, "show", f"HEAD:{path}").decode(errors="replace")
        if len(left) < count and not OTHERS.search(f"/{path}\n{text}"):
            left.append(path)
    return [f"{repository}@{commit}:{path}" for path in left]


def attempt(here, source, flags, words):
    argv = [samples.RUNGS, "try", source, *flags, "--emulator", EMULATOR, "--no-sandbox", "--", *words]
    code, stdout, stderr, said = samples.ran(argv, here, SECONDS)
    reports = [line for line in stderr.splitlines() if line.startswith("rungs-emulator: ")]
    table = re.split(r"(?:^|\n)\nkernel +launches", stderr)[1:]
    return {
        "code": code,
        "said": said,
        "reports": reports,
        "table": table[-1] if table else "",
        "tail": (stdout + stderr)[-600:],
    }


def try_one(line, folders):
    repository, commit, path = re.fullmatch(r"(.+)@(.+):(.+)", line.strip()).groups()
    with tempfile.TemporaryDirectory(prefix="sample-") as to:
        here = pathlib.Path(to) / pathlib.PurePath(path).parent
        _, _, more, flags = SUITES[repository]
        try:
            samples.extract(folders[repository], commit, [str(pathlib.PurePath(path).parent), *more], to)
        except subprocess.CalledProcessError:
            return {"program": path, "code": None, "said": "the clone lacks its files", "reports": [], "table": ""}
        texts = [file.read_text(errors="replace") for file in here.iterdir() if file.is_file()]
        if "HeCBench" in repository:
            for name in sorted({name for text in texts for name in re.findall(r"\.\./([\w-]+)/", text)}):
                samples.extract(folders[repository], commit, [f"src/{name}"], to)
        for file in here.glob("*.cu") if "llm.c" in repository else []:
            file.write_text(SIZES.sub(lambda size: f"int {size[1]} = {SMALL.get(size[1], 2)};", file.read_text()))
        kernels = re.findall(r"case (\d+):", (pathlib.Path(to) / path).read_text()) if "llm.c" in repository else []
        own, words = samples.words_of(here / "Makefile") if "HeCBench" in repository else ([], [])
        found = attempt(here, pathlib.PurePath(path).name, [*flags, *own], [*samples.smaller(words, 16), *kernels[-1:]])
        return {"program": f"{repository.split('/')[1]}:{path}", **found}


def main():
    verb, words = sys.argv[1], sys.argv[2:]
    if verb == "draw":
        for repository, folder in zip(SUITES, words[1:]):
            print("\n".join(drawn(repository, folder, words[0])))
    elif verb == "try":
        folders = dict(zip(SUITES, words[2:]))
        lines = pathlib.Path(words[0]).read_text().splitlines()
        with concurrent.futures.ThreadPoolExecutor(2) as pool, open(words[1], "a") as file:
            for found in pool.map(lambda line: try_one(line, folders), lines):
                print(json.dumps(found), file=file, flush=True)
    else:
        rows = [json.loads(line) for line in pathlib.Path(words[0]).read_text().splitlines()]
        ended = [row for row in rows if row["table"] and not (row["code"] == 1 and not row["reports"])]
        print(
            f"{len(rows)} programs, {len(ended)} ran, {sum(bool(row['reports']) for row in ended)} of them with a report"
        )
        for row in rows:
            if row["reports"] or row not in ended:
                print(f"{row['program']}: {row['code']} {(row['reports'] or [row['said'] or row['tail'][-200:]])[:3]}")


if __name__ == "__main__":
    main()
