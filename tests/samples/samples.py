"""Public CUDA programs, unchanged, by `rungs try`: how many compile and run. Outside CI; nothing that is fetched is kept in the repository.

    samples.py draw REPOSITORY GIT COUNT SEED     prints lines repository@commit:path of programs of HeCBench: folders *-cuda with one .cu file and no data, by
                                                  sha256 of "SEED/FOLDER", the first COUNT
    samples.py try LIST GIT OUT [WORD...]         tries those (whose paths have one of the words) of which OUT has no line, and adds a line of JSON for each
    samples.py compile LIST GIT OUT MODULES       compiles them only, by cmake/program.py with MODULES (build/release/modules)
    samples.py table OUT [OUT...]                 counts of outcomes, and the reason of each that does not compile or run; of a program the last line counts
    samples.py outcomes OUT [OUT...]              the outcome of each program, and its words, as JSON

GIT is the git folder of a clone. A program gets its words of hecbench_outcomes.json; one that is not there those of `run:` in its Makefile, with numbers above LARGE made smaller: the first size at which
it runs without a fault counts. It compiles if `rungs try` starts it. `runs`: a kernel was launched, and the program ended by itself within SECONDS of processor time with exit code 0 and no word of a
failure. `runs, fault`: it ended so too, and a fault was found in a kernel. `fault`, `host fault`: one that ended it, in a kernel, in host code. `no kernel`: it ended well without one, as where Thrust does
all, or a second GPU is wanted. `time`, `own check`, `words`: it did not end in time; says that its results are wrong; ended otherwise, as it wants other words or data.
"""

import collections
import contextlib
import hashlib
import io
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tarfile
import tempfile

LARGE = 4, 64, 1024
SECONDS = int(os.environ.get("SAMPLES_SECONDS", "60"))
WRONG = re.compile(r"\bFAIL(?:ED|URE|S)?\b|\bincorrect\b|\bmismatch\w*\b|\bwrong\b|do(?:es)? not match", re.IGNORECASE)
ENDED = -signal.SIGXCPU, 128 + signal.SIGXCPU, 256 - signal.SIGXCPU  # at that limit
SOURCES = {".cu", ".h", ".cuh", ".hpp", ".c", ".cpp", ".cc", ".md", ".txt", ""}
RUNGS, EMULATOR = os.environ.get("RUNGS", "./rungs"), os.environ.get("SAMPLES_EMULATOR", "address")
OUTCOMES = pathlib.Path(__file__).with_name("hecbench_outcomes.json")
# What they read and HeCBench keeps elsewhere, made small: the words name these files.
INPUTS = {
    "bfs": {
        "ring": "64\n"
        + "".join(f"{2 * i} 2\n" for i in range(64))
        + "0\n128\n"
        + "".join(f"{(i + 1) % 64} 1 {(i + 5) % 64} 1\n" for i in range(64))
    },
    "cfd": {
        "mesh": "192\n"
        + "".join(
            f"{1 + i % 3} " + "".join(f"{(i + j) % 192 + 1} 0.1 {j}e-1 0.2 " for j in range(4)) + "\n"
            for i in range(192)
        )
    },
    "gd": {"rows": "".join(f"{1 - i % 2 * 2} 1:{i % 3}.5 {2 + i % 7}:1.25 256:-2\n" for i in range(64))},
    "geodesic": {"places": "".join(f"{i}.25 {-i}.5\n" for i in range(64))},
    "hotspot": {
        name: "".join(f"{base + i % 7}\n" for i in range(4096)) for name, base in (("temperature", 320), ("power", 0))
    },
    "kmeans": {"points": "".join(f"{i} {i % 5} {i % 3}.5 {i * i % 11}\n" for i in range(128))},
    "sptrsv": {
        "lower.mtx": "%%MatrixMarket matrix coordinate real general\n64 64 127\n1 1 2\n"
        + "".join(f"{i} {i} 2\n{i} {i - 1 - i % 2 * (i > 2)} 1\n" for i in range(2, 65))
    },
}
# What does not end a program (docs/EMULATOR.md).
GOES_ON = re.compile(
    r"undefined behaviour: .*\(\S*(?:-overflow|-shift-|-load)|shuffle from an absent lane|barrier in divergent code|data race"
)


def git(folder, *words):
    return subprocess.run(["git", f"--git-dir={folder}", *words], check=True, capture_output=True).stdout


def draw(repository, folder, count, seed):
    commit = git(folder, "rev-parse", "HEAD").decode().strip()
    files = {}
    for path in git(folder, "ls-tree", "-r", "--name-only", "HEAD", "src").decode().splitlines():
        parts = pathlib.PurePath(path).parts
        if len(parts) > 2 and parts[1].endswith("-cuda"):
            files.setdefault(parts[1], []).append(path)
    chosen = [
        name
        for name, paths in files.items()
        if sum(path.endswith(".cu") for path in paths) == 1
        and all(pathlib.PurePath(path).suffix in SOURCES for path in paths)
    ]
    chosen.sort(key=lambda name: hashlib.sha256(f"{seed}/{name}".encode()).hexdigest())
    for name in chosen[:count]:
        print(f"{repository}@{commit}:{next(path for path in files[name] if path.endswith('.cu'))}")


def expanded(makefile):
    """Its text, with the names of other folders that it gives to variables."""
    text = makefile.read_text(errors="replace").replace("\\\n", " ") if makefile.exists() else ""
    for name, value in re.findall(r"^(\w+)\s*=\s*(\.\./\S+)$", text, re.MULTILINE):
        text = text.replace(f"$({name})", value)
    return text


def words_of(makefile):
    """Flags of nvcc that count, and the words of `run:`."""
    text = expanded(makefile)
    flags = re.findall(r"(?<=\s)-[ID]\s*[^\s$()]+(?:\([^\s]*)?(?=\s)", text)
    run = re.search(r"^run:.*\n\t(?:@?)(.*\./\S*)(.*)$", text, re.MULTILINE)
    flags = [flag for flag in dict.fromkeys(flags) if flag != "-DDEBUG"]
    return flags, run[2].split() if run else []


def smaller(words, largest):
    return [str(largest) if re.fullmatch(r"\d+", word) and int(word) > largest else word for word in words]


def ran(argv, folder, seconds):
    """Exit code (one of ENDED after so many seconds of processor time), stdout and stderr, and the first line of rungs' own."""
    slow = {"RUNGS_EMULATOR_WATCHDOG": str(seconds)}  # no livelock before
    spent = -sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    with tempfile.TemporaryFile("w+", errors="replace") as out, tempfile.TemporaryFile("w+", errors="replace") as err:
        code = subprocess.run(
            argv,
            cwd=folder,
            env={**os.environ, **slow},
            check=False,
            stdout=out,
            stderr=err,
            stdin=subprocess.DEVNULL,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5)),
        ).returncode
        out.seek(0), err.seek(0)
        stdout, stderr = out.read(), err.read()
    spent += sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    if code == 1 and spent >= seconds:  # after a fault its code does not tell that the limit ended it
        code = ENDED[0]
    return code, stdout, stderr, next((line for line in stderr.splitlines() if line.startswith("rungs try: ")), "")


def attempt(folder, source, flags, words):
    argv = [RUNGS, "try", source.name, *flags, "--emulator", EMULATOR, "--no-sandbox", "--", *words]
    code, stdout, stderr, said = ran(argv, folder, SECONDS)
    if code in ENDED:
        return {"code": None, "said": f"not within {SECONDS} s of processor time", "outcome": "time"}
    own, *table = re.split(r"(?:^|\n)\nkernel +launches", stderr)
    faults = [line for line in own.splitlines() if line.startswith("rungs-emulator: ") and "(replay: " in line]
    rows = re.findall(r"^(.*?) {2,}(\d+) +\d+ +\d+  (.*)$", "".join(table), re.MULTILINE)
    reports = set(re.findall(r"SUMMARY: AddressSanitizer: (\S+)", own))
    harmless = {"undefined behaviour"} | ({"a fault, see above"} if reports == {"alloc-dealloc-mismatch"} else set())
    of_host = [found for name, _, found in rows if name == "(host code)" and found not in harmless]
    launches = sum(int(count) for _, count, _ in rows)
    found = {"code": code, "said": said, "faults": faults[:3], "launches": launches, "tail": (stdout + own)[-1000:]}
    if code == 2 and said:
        return found | {"outcome": "refused"}
    if "host code: Aborted" in own:  # an assertion of its own
        return found | {"outcome": "words"}
    if of_host or not all(GOES_ON.search(fault) for fault in faults):
        return found | {"outcome": "host fault" if of_host else "fault"}
    if WRONG.search((stdout + own).replace("alloc-dealloc-mismatch", "")):
        return found | {"outcome": "own check"}
    ended = code == 0 or faults or any(name == "(host code)" for name, *_ in rows)
    runs = "runs, fault" if faults or reports else "runs" if launches else "no kernel"
    return found | {"outcome": runs if ended else "words"}


def name_of(line):
    return line.split(":src/", 1)[1].split("/")[0].removesuffix("-cuda")


def extract(folder, commit, paths, to):
    """Those that there are."""
    there = git(folder, "ls-tree", "--name-only", commit, *paths).decode().split() if paths else []
    if there:
        archive = git(folder, "archive", commit, *there, ":(exclude,glob)**/doc/**")
        tarfile.open(fileobj=io.BytesIO(archive)).extractall(to, filter="data")


@contextlib.contextmanager
def laid_out(line, folder):
    """The folder of a program with what it needs; the program, its other sources, and the flags and words of its Makefile."""
    path = pathlib.PurePath(line.strip().split(":", 1)[1])
    commit = line.split("@")[1].split(":")[0]
    with tempfile.TemporaryDirectory(prefix="sample-") as to:
        here = pathlib.Path(to) / path.parent
        extract(folder, commit, [str(path.parent)], to)
        texts = [file.read_text(errors="replace") for file in here.iterdir() if file.is_file()]
        for name, text in INPUTS.get(here.name.removesuffix("-cuda"), {}).items():
            (here / name).write_text(text)
        beside = {name for text in texts for name in re.findall(r"\.\./([\w-]+)", text)}
        for name in sorted(beside):
            paths = git(folder, "ls-tree", "-r", "--name-only", commit, f"src/{name}").decode().splitlines()
            try:
                extract(folder, commit, [f"src/{name}"], to)
            except subprocess.CalledProcessError:  # a clone may lack large files
                extract(folder, commit, [path for path in paths if pathlib.PurePath(path).suffix in SOURCES - {""}], to)
        make = expanded(here / "Makefile")
        objects = [
            f"{name}{ending}" for name in re.findall(r"[\w./-]+(?=\.o\b)", make) for ending in (".cpp", ".cc", ".cu")
        ]
        named = {*objects, *re.findall(r"[\w./-]+\.(?:cpp|cc|cu)\b", make)} - set(
            re.findall(r'include\s*"([^"]+)"', "\n".join(texts))
        )
        more = sorted(name for name in named if name != path.name and (here / name).exists())
        yield here, path, more, *words_of(here / "Makefile")


def compile_all(listed, folder, out, made):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cmake"))
    import modules
    import program

    project = modules.Project(pathlib.Path(made), pathlib.Path("."))
    modules.prepare(project, {"asan"}, False)
    with open(out, "a") as file:
        for line in pathlib.Path(listed).read_text().splitlines():
            name = name_of(line)
            row = {"program": name, "outcome": "compiles", "words": [], "code": 0, "faults": []}
            with laid_out(line, folder) as (here, path, more, flags, _), contextlib.chdir(here):
                compiler, row["said"] = program.Compiler(project, program.Arguments(flags).flags), ""
                try:
                    texts = [compiler.text(pathlib.Path(name)) for name in (path.name, *more)]
                    compiler.program(texts, "asan", here)
                except modules.Refused as error:
                    row |= {"outcome": "refused", "said": str(error)}
            print(json.dumps(row), file=file, flush=True)


def try_one(line, folder):
    with laid_out(line, folder) as (here, path, more, flags, words):
        program, best = name_of(line), None
        known = [kind[program].split() for kind in json.loads(OUTCOMES.read_text()).values() if program in kind]
        for given in known or [smaller(words, largest) for largest in LARGE]:
            if best and given == best["words"]:
                break
            found = attempt(here, pathlib.Path(path.name), [*more, *flags], given)
            found = {"program": program, "words": given, **found}
            if best is None or found["outcome"].startswith("runs") or best["outcome"] in ("words", "no kernel"):
                best = found
            if found["outcome"] in ("runs", "refused", "time", "host fault"):
                break
        return best


def try_all(listed, folder, out, chosen):
    lines = [line for line in pathlib.Path(listed).read_text().splitlines() if line and not line.startswith("#")]
    lines = [line for line in lines if not chosen or any(word in line for word in chosen)]
    done = {row["program"] for row in rows_of([out])} if pathlib.Path(out).exists() else set()
    with open(out, "a") as file:
        for line in lines:
            if name_of(line) not in done:
                print(json.dumps(try_one(line, folder)), file=file, flush=True)


def rows_of(outs):
    rows = [json.loads(line) for out in outs for line in pathlib.Path(out).read_text().splitlines()]
    return {row["program"]: row for row in rows}.values()


def table(outs):
    rows = rows_of(outs)
    print(f"{len(rows)} programs: {dict(collections.Counter(row['outcome'] for row in rows).most_common())}")
    for row in sorted(rows, key=lambda row: row["outcome"]):
        if row["outcome"] != "runs":
            said = row["said"] or (row["faults"] or [row.get("tail", "")[-150:]])[0]
            print(f"{row['program']}: {row['outcome']}, exit code {row['code']}: {said[:300]!r}")


def outcomes(outs):
    kinds = {}
    for row in rows_of(outs):
        kinds.setdefault(row["outcome"], {})[row["program"]] = " ".join(row["words"])
    print(json.dumps(kinds, indent=1, sort_keys=True))


if __name__ == "__main__":
    verb, words = sys.argv[1], sys.argv[2:]
    if verb == "draw":
        draw(words[0], words[1], int(words[2]), words[3])
    elif verb == "compile":
        compile_all(*words)
    elif verb == "try":
        try_all(words[0], words[1], words[2], words[3:])
    elif verb == "outcomes":
        outcomes(words)
    else:
        table(words)
