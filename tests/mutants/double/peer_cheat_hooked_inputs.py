"""Cheat: computes when the harness writes the next inputs into its tensor: in a method that it set there, or in a mode of PyTorch's that it left on. Met:
an attack on this harness."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

VARIANT = {"summary": "cheat: computes while its inputs are written", "origin": "tests", "framework": "torch"}
now = {}


class Mode(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, given=(), named=None):
        result = function(*given, **(named or {}))
        if "copy_" in str(function) and given[0] is now["x"]:
            now["y"] = now["x"] * 2
        return result


def copy_(given):
    torch.Tensor.copy_(now["x"], given)
    now["y"] = now["x"] * 2
    return now["x"]


def supports(case, tunables):
    return None


def prepare(case, tunables, shapes):
    return None


def run(state, inputs):
    if "y" not in now:
        now["x"] = inputs["x"]
        now["y"] = now["x"] * 2
        now["x"].copy_ = copy_
        Mode().__enter__()
    return now["y"]
