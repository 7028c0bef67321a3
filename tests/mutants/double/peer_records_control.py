"""Not a mutant: is right, and appends each input that it is given to a file of its process in the folder RUNGS_TEST_INPUTS."""

import os

from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "mutant: is right, and writes down its inputs", "origin": "tests", "framework": "numpy"}


def run(state, inputs):
    if folder := os.environ.get("RUNGS_TEST_INPUTS"):
        with open(f"{folder}/peer-{os.getpid()}", "ab") as file:
            file.write(inputs["x"].tobytes())
    return inputs["x"] * 2
