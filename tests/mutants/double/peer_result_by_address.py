"""Mutant: keeps results under the address of the inputs. Must be rejected: other data comes to the same address. Met: pygpubench."""

from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "mutant: keeps results by address", "origin": "tests", "framework": "numpy"}


def run(state, inputs):
    kept, address = state.setdefault("kept", {}), inputs["x"].ctypes.data
    if address not in kept:
        kept[address] = inputs["x"] * 2
    return kept[address]
