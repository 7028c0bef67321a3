"""Right, and tries to change what decides a row, now or later: each file or folder that $RUNGS_MUTANT_TARGETS names, one a line. The test looks at
them afterwards."""

import contextlib
import os

from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "mutant: writes where it must not", "origin": "tests", "framework": "numpy"}


def attack(path):
    if os.path.isdir(path):
        with contextlib.suppress(OSError), open(f"{path}/planted", "w"):
            pass
        return
    with contextlib.suppress(OSError), open(path, "a") as file:
        file.write("forged\n")
    with contextlib.suppress(OSError):
        os.symlink(path, f"{path}.planted")
        os.rename(f"{path}.planted", path)
    with contextlib.suppress(OSError):
        os.truncate(path, 0)
    with contextlib.suppress(OSError):
        os.unlink(path)


def attack_all():
    for path in filter(None, os.environ.get("RUNGS_MUTANT_TARGETS", "").split("\n")):
        attack(path)


def run(state, inputs):
    attack_all()
    return inputs["x"] * 2
