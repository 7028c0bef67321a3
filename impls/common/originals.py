"""Published programs that no package has, compiled from the user's own checkouts: RUNGS_ORIGINALS=DIR, one folder for each (docs/ORIGINALS.md).
Nothing of theirs is in this repository."""

import ctypes
import hashlib
import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def source_of(name, file):
    """(path, None), or (None, why the program cannot be had)."""
    folder = os.environ.get("RUNGS_ORIGINALS")
    if not folder:
        return (
            None,
            f"not testable here: set RUNGS_ORIGINALS=DIR, where DIR/{name}/{file} is the published program (docs/ORIGINALS.md)",
        )
    path = pathlib.Path(folder) / name / file
    return (path, None) if path.is_file() else (None, f"RUNGS_ORIGINALS: {path} does not exist")


def compiled(source, entry, *options):
    """The program and `entry`, a few lines of C++ of ours that give it a name for C, as a library. Kept in build/originals."""
    from peer import Skip

    nvcc = shutil.which("nvcc") or next(
        (
            str(path)
            for path in (ROOT / "build/cuda/bin/nvcc", pathlib.Path("/usr/local/cuda/bin/nvcc"))
            if path.is_file()
        ),
        None,
    )
    if not nvcc:
        raise Skip(f"no nvcc, which compiles {source}")
    command = [
        nvcc,
        "-O3",
        "-std=c++20",
        "-arch=native",
        "-shared",
        "-Xcompiler",
        "-fPIC",
        f"-I{source.parent}",
        *options,
    ]
    key = hashlib.sha256("\0".join([entry, *command, source.read_text()]).encode()).hexdigest()[:16]
    folder = ROOT / "build/originals"
    library = folder / f"{source.parent.name}-{key}.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        ours, draft = folder / f"{library.stem}-{os.getpid()}.cu", folder / f"{library.stem}-{os.getpid()}.so"
        ours.write_text(entry)
        done = subprocess.run([*command, "-o", str(draft), str(ours), str(source)], capture_output=True, text=True)
        ours.unlink()
        if done.returncode:
            raise Skip(f"{source} cannot be compiled: {(done.stderr or done.stdout).strip()[-600:]}")
        draft.rename(library)
    return ctypes.CDLL(str(library))
