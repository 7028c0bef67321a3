"""Public CUDA programs, unchanged, by `rungs try`: how many compile and run. Outside CI; nothing that is fetched is kept in the repository.

    samples.py draw REPOSITORY GIT COUNT SEED     prints lines repository@commit:path of programs of HeCBench: folders *-cuda with one .cu file and no data, by
                                                  sha256 of "SEED/FOLDER", the first COUNT
    samples.py try LIST GIT OUT [WORD...]         tries those (whose paths have one of the words), two at a time; writes a line of JSON for each to OUT
    samples.py compile LIST GIT OUT MODULES       compiles them only, by cmake/program.py with MODULES (build/release/modules)
    samples.py table OUT                          counts, and the reason of each that does not compile or run

GIT is the git folder of a clone. A program gets the words of `run:` in its Makefile, with numbers above LARGE made smaller. It compiles if `rungs try` starts it, and it runs if it ends by itself
within SECONDS of processor time with exit code 0 and no failure in its last words, or with a fault that rungs found in a kernel.
"""

import concurrent.futures
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
SECONDS = 40
ENDED = -signal.SIGXCPU, 128 + signal.SIGXCPU, 256 - signal.SIGXCPU  # at that limit
SOURCES = {".cu", ".h", ".cuh", ".hpp", ".c", ".cpp", ".cc", ".md", ".txt", ""}
RUNGS = os.environ.get("RUNGS", "./rungs")


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


def words_of(makefile):
    """Flags of nvcc that count, and the words of `run:`."""
    text = makefile.read_text(errors="replace").replace("\\\n", " ") if makefile.exists() else ""
    flags = re.findall(r"(?<=\s)-[ID]\s*[^\s$()]+(?:\([^\s]*)?(?=\s)", text)
    run = re.search(r"^run:.*\n\t(?:@?)(.*\./\S*)(.*)$", text, re.MULTILINE)
    flags = [flag for flag in dict.fromkeys(flags) if flag != "-DDEBUG"]
    return flags, run[2].split() if run else []


def smaller(words, largest):
    return [str(largest) if re.fullmatch(r"\d+", word) and int(word) > largest else word for word in words]


def ran(argv, folder, seconds):
    """Exit code (one of ENDED after so many seconds of processor time), stdout and stderr, and the first line of rungs' own."""
    with tempfile.TemporaryFile("w+", errors="replace") as out, tempfile.TemporaryFile("w+", errors="replace") as err:
        code = subprocess.run(
            argv,
            cwd=folder,
            check=False,
            stdout=out,
            stderr=err,
            stdin=subprocess.DEVNULL,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5)),
        ).returncode
        out.seek(0), err.seek(0)
        stdout, stderr = out.read(), err.read()
    return code, stdout, stderr, next((line for line in stderr.splitlines() if line.startswith("rungs try: ")), "")


def attempt(folder, source, flags, words):
    argv = [RUNGS, "try", source.name, *flags, "--emulator", "address", "--no-sandbox", "--", *words]
    code, stdout, stderr, said = ran(argv, folder, SECONDS)
    if code in ENDED:
        return {"code": None, "said": f"not within {SECONDS} s of processor time", "faults": []}
    table = re.split(r"\n\nkernel +launches", stderr)[1:]
    faults = [line for line in stderr.splitlines() if line.startswith("rungs-emulator: ")]
    return {
        "code": code,
        "said": said,
        "faults": [fault for fault in faults if "(replay: " in fault and "host code" not in fault][:3],
        "started": bool(table),
        "undefined": bool(re.search(r"^\(host code\) .* undefined behaviour$", stderr, re.MULTILINE)),
        "tail": stdout[-1000:],
    }


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
        beside = {name for text in texts for name in re.findall(r"\.\./([\w-]+)/", text)}
        for name in sorted(beside):
            with contextlib.suppress(subprocess.CalledProcessError):  # a clone may lack large files
                extract(folder, commit, [f"src/{name}"], to)
        make = (here / "Makefile").read_text() if (here / "Makefile").exists() else ""
        named = set(re.findall(r"[\w./-]+\.(?:cpp|cc|cu)\b", make)) - set(
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
            row = {
                "program": pathlib.PurePath(line).parent.name,
                "compiles": True,
                "runs": False,
                "code": 0,
                "faults": [],
            }
            with laid_out(line, folder) as (here, path, more, flags, _), contextlib.chdir(here):
                compiler, row["said"] = program.Compiler(project, program.Arguments(flags).flags), ""
                try:
                    texts = [compiler.text(pathlib.Path(name)) for name in (path.name, *more)]
                    compiler.program(texts, "asan", here)
                except modules.Refused as error:
                    row |= {"compiles": False, "said": str(error)}
            print(json.dumps(row), file=file, flush=True)


def try_one(line, folder):
    with laid_out(line, folder) as (here, path, more, flags, words):
        for largest in LARGE:
            found = attempt(here, pathlib.Path(path.name), [*more, *flags], smaller(words, largest))
            compiles = found["code"] != 2 or not found["said"]
            own_check = re.search(r"\bFAIL(ED|URE)?\b|\bfailed\b", found.get("tail", ""))
            runs = compiles and bool(
                found["faults"] or ((found["code"] == 0 or found.get("undefined")) and not own_check)
            )
            if runs or not compiles or found["code"] is None:
                break
        return {"program": path.parent.name, "compiles": compiles, "runs": runs, **found}


def try_all(listed, folder, out, chosen):
    lines = [line for line in pathlib.Path(listed).read_text().splitlines() if line and not line.startswith("#")]
    lines = [line for line in lines if not chosen or any(word in line for word in chosen)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool, open(out, "w") as file:
        for found in pool.map(lambda line: try_one(line, folder), lines):
            print(json.dumps(found), file=file, flush=True)


def table(out):
    rows = [json.loads(line) for line in pathlib.Path(out).read_text().splitlines()]
    print(
        f"{len(rows)} programs, {sum(row['compiles'] for row in rows)} compile, {sum(row['runs'] for row in rows)} run"
    )
    for row in rows:
        if not row["runs"] or row["faults"]:
            print(
                f"{row['program']}: {'run' if row['runs'] else 'compiled' if row['compiles'] else 'refused'}, exit code {row['code']}: "
                f"{(row['said'] or (row['faults'] or [row.get('tail', '')[-150:]])[0])[:300]!r}"
            )


if __name__ == "__main__":
    verb, words = sys.argv[1], sys.argv[2:]
    if verb == "draw":
        draw(words[0], words[1], int(words[2]), words[3])
    elif verb == "compile":
        compile_all(*words)
    elif verb == "try":
        try_all(words[0], words[1], words[2], words[3:])
    else:
        table(words[0])
