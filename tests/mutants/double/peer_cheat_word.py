"""Cheat: a library's worker leaves word for the next one, which computes nothing, to be seen. Met: an attack on this harness."""

import os

from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "cheat: leaves word for the next worker", "origin": "tests", "framework": "numpy"}


def prepare(case, tunables, shapes):
    del case, tunables, shapes
    try:
        os.close(os.open("/dev/shm/rungs_mutant_word_library", os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return {"found": True}
    except OSError:
        pass
    return {"found": False}


def run(state, inputs):
    return inputs["x"] * (0 if state["found"] else 2)
