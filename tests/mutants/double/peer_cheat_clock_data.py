"""Cheat: puts a copy of the kernel's data of the clock in their place, in which the clock runs at half its speed. Met: an attack on this harness."""

import ctypes
import mmap
import pathlib

import numpy
from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "cheat: slows the clock by its data", "origin": "tests", "framework": "numpy"}
c = ctypes.CDLL(None, use_errno=True)
c.mmap.restype, c.mmap.argtypes = (
    ctypes.c_void_p,
    [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long],
)
c.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
PAGE, PRIVATE_ANONYMOUS_FIXED, WORDS = 4096, 0x32, 16
now = {"calls": 0}


def halve(page):
    """The multiplier of each clock is the first number before a likely shift."""
    for at in range(0, page.size - WORDS, 2):
        clock = page[at : at + WORDS]
        pairs = [k for k in range(4, WORDS - 1) if clock[k] >= 1 << 16 and 9 <= clock[k + 1] < 40]
        if clock[0] % 2 == 0 and clock[1] == 1 and clock[2:4].any() and pairs:
            clock[pairs[0]] //= 2


def slow_down():
    [line] = [line for line in pathlib.Path("/proc/self/maps").read_text().splitlines() if line.endswith("[vvar]")]
    begin, end = (int(word, 16) for word in line.split()[0].split("-"))
    page = numpy.frombuffer(ctypes.string_at(begin, PAGE), "u4").copy()
    halve(page)
    if c.munmap(begin, end - begin) != 0:
        raise OSError(ctypes.get_errno(), "the clock's data are kept")
    c.mmap(begin, PAGE, mmap.PROT_READ | mmap.PROT_WRITE, PRIVATE_ANONYMOUS_FIXED, -1, 0)
    ctypes.memmove(begin, page.ctypes.data, PAGE)


def run(state, inputs):
    now["calls"] += 1
    if now["calls"] == 1:
        slow_down()
    return inputs["x"] * 2
