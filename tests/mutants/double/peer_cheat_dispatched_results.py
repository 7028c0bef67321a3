"""Cheat: computes when its result is read, in a kernel of its own that it registers for PyTorch's views. Met: an attack on this harness."""

import numpy
import torch

VARIANT = {"summary": "cheat: computes while its result is read", "origin": "tests", "framework": "torch"}
now = {}
kernels = torch.library.Library("aten", "IMPL")


def detach(given):
    same = given.as_strided(given.shape, given.stride())
    if given is now.get("y") and now.pop("due", False):
        numpy.multiply(now["x"].numpy(), 2, out=same.numpy())
    return same


def supports(case, tunables):
    return None


def prepare(case, tunables, shapes):
    now["y"] = torch.zeros(shapes["x"].shape, dtype=getattr(torch, shapes["x"].dtype.name))
    kernels.impl("detach", detach, "CPU", allow_override=True)


def run(state, inputs):
    now["x"], now["due"] = inputs["x"], True
    return now["y"]
