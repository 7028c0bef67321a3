"""`rungs try FOLDER` or `rungs try PROBLEM.py SOLUTION.py`: a problem as KernelBench writes it becomes an op with two variants, Model and ModelNew.

    kernelbench.py MODULES TRIED PYTHON PATH...   prints what the program needs to know, a line each: the op, its descriptor's library, the two variants, and a
                                                  word on the bound. PYTHON: the one that has PyTorch

The files are copied into TRIED/kernelbench/OP, and described there by harness/device/kernelbench.py, in the sandbox where there is one.
"""

import ast
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys

import modules
import python_op

DEVICE = pathlib.Path(__file__).resolve().parents[1] / "harness/device"
DESCRIBE_SECONDS = 600
NO_GPU = "it compiles CUDA or Triton, which needs a GPU and PyTorch with CUDA: not verified here"
COMPILES = re.compile(r"cuda_sources|^\s*(?:import|from) triton\b|\.cuda\(\)|device\s*=\s*.cuda", re.MULTILINE)
VARIANT = '''"""{kind} of {op}"""
# {key}
import kernelbench

VARIANT = {facts}


def supports(case, tunables):
    return {reason!r}


def prepare(case, tunables, shapes):
    return kernelbench.Solution({folder!r}, {file!r}, {kind!r}, case, {device!r})


def run(state, inputs):
    return state.call(inputs)
'''


def names_in(path):
    """Classes, functions and names of a file, read without running it."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    except (SyntaxError, ValueError) as error:
        raise modules.Refused(f"{path}: {error}") from None
    found = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    return found | {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def the_two(paths):
    """(the problem's file, the solution's)."""
    files = sorted(paths[0].glob("*.py")) if paths[0].is_dir() else paths
    known = {path: names_in(path) for path in files}
    problems = [path for path, names in known.items() if {"Model", "get_inputs", "get_init_inputs"} <= names]
    solutions = [path for path, names in known.items() if "ModelNew" in names]
    where = ", ".join(map(str, paths))
    if both := set(problems) & set(solutions):
        raise modules.Refused(
            f"{min(both)}: Model and ModelNew in one file could change each other: give ModelNew a file of its own"
        )
    for what, found in (("Model, get_inputs and get_init_inputs", problems), ("ModelNew", solutions)):
        if len(found) != 1:
            raise modules.Refused(f"{where}: one file with {what} is expected, there are {len(found)}")
    return problems[0], solutions[0]


def described(folder, op, key, python):
    words = modules.in_sandbox([python, DEVICE / "kernelbench.py", folder, op, key], folder)
    done = subprocess.run(
        list(map(str, words)),
        check=False,
        capture_output=True,
        text=True,
        timeout=DESCRIBE_SECONDS,
        stdin=subprocess.DEVNULL,
    )
    last = (done.stdout.strip().splitlines() or [""])[-1]
    try:
        told = json.loads(last)
    except ValueError:
        raise modules.Refused(f"problem.py: {modules.first_error(done.stderr)}") from None
    if "missing" in told:
        print(
            f"{told['missing']} is missing in {told['python']}: {told['python']} -m pip install {told['missing']}, or name another by RUNGS_PYTHON",
            end="",
        )
        sys.exit(4)
    if "refused" in told:
        raise modules.Refused(told["refused"])
    return told


def hash_of(parts):
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def variant(folder, mine, op, key, kind, gpu):
    file = folder / "problem.py" if kind == "Model" else mine / "solution.py"
    needs = kind == "ModelNew" and not gpu and COMPILES.search(file.read_text())
    facts = {
        "summary": f"{kind} as it is",
        "origin": "KernelBench's form",
        "framework": "torch",
        "form": "torch",
        "dtypes": ["f16", "bf16"],
    }
    facts |= {"clock": "torch", "needs_gpu": True} if gpu else {"clock": "cpu"}
    made = mine / f"peer_{kind.lower()}.py"
    device, reason = ("cuda" if gpu else "cpu"), (NO_GPU if needs else None)
    made.write_text(
        VARIANT.format(
            kind=kind, op=op, key=key, facts=facts, reason=reason, folder=str(folder), file=str(file), device=device
        )
    )
    return made


def library(project, folder, op):
    """The op's descriptor, compiled."""
    source, made = folder / f"{op}.c", folder / f"{op}.so"
    try:
        source.write_text(python_op.descriptor(op, (folder / f"{op}.py").read_text(), str(folder / f"{op}.py")))
    except python_op.Wrong as error:
        raise modules.Refused(str(error)) from None
    with project.temporary_folder() as to:
        object_file, _ = project.compile(source, "native", op, to, ["-w", "-fvisibility=default"])
        modules.run([*project.settings["link"], "-shared", "-o", made, object_file], modules.COMPILE_SECONDS)
    return made


def main():
    settings, tried, python, *paths = map(pathlib.Path, sys.argv[1:])
    problem, solution = the_two(paths)
    op = "kb_" + re.sub(r"[^a-z0-9]+", "_", re.sub(r"^\d+_", "", problem.stem).lower()).strip("_")[:32]
    harness = DEVICE / "kernelbench.py", DEVICE / "torch_error.py", pathlib.Path(__file__), python
    key, own = (
        hash_of(path.read_bytes() for path in (*harness, *paths)) for paths in ((problem,), (problem, solution))
    )
    project = modules.Project(settings, tried)
    project.sweep()
    folder = (tried / "kernelbench" / f"{op}-{key[:16]}").resolve()
    mine = folder / own[:16]
    mine.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(solution, mine / "solution.py")
    with modules.locked(folder / "lock"):  # described once, for all its solutions
        told = modules.load(folder / "told.json")
        if told is None:
            shutil.copyfile(problem, folder / "problem.py")
            told = described(folder, op, key, python)
            library(project, folder, op)
            modules.replace(folder / "told.json", json.dumps(told))
    made = [variant(folder, mine, op, own, kind, told["gpu"]) for kind in ("Model", "ModelNew")]
    print(op, folder / f"{op}.so", *made, told["told"], sep="\n")


if __name__ == "__main__":
    modules.end_of(main)
