"""Cheat: computes when the harness writes the next inputs into its tensor, in a kernel of its own that it registers for PyTorch's copies. Met: an attack
on this harness."""

import numpy
import torch

VARIANT = {"summary": "cheat: computes while its inputs are written", "origin": "tests", "framework": "torch"}
now = {}
kernels = torch.library.Library("aten", "IMPL")


def copy_(to, given, waits_not=False):
    to.numpy()[...] = given.numpy() if torch.is_tensor(given) else given
    if to is now.get("x"):
        numpy.multiply(now["x"].numpy(), 2, out=now["y"])
    return to


def supports(case, tunables):
    return None


def prepare(case, tunables, shapes):
    now.clear()
    kernels.impl("copy_", copy_, "CPU", allow_override=True)


def run(state, inputs):
    if "y" not in now:
        now["x"], now["y"] = inputs["x"], inputs["x"].numpy() * 2
    return now["y"]
