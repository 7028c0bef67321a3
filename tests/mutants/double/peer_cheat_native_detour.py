"""Cheat: as peer_cheat_native_handler.py, but its handler lies in NumPy's own library, where it wrote a jump to what computes. Met: an attack on this
harness."""

import ctypes
import mmap
import platform

import numpy
from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "cheat: computes when its result is read", "origin": "tests", "framework": "numpy"}
JUMPS = {"x86_64": b"\x48\xb8%b\xff\xe0", "aarch64": b"\x50\x00\x00\x58\x00\x02\x1f\xd6%b"}  # to an address
SIGSEGV, NOTHING, ALL, WITH_CODE = 11, 0, 3, 7
c = ctypes.CDLL(None)
c.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
c.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
now = {}


def compute(_):
    c.mprotect(*now["pages"], ALL)
    numpy.multiply(now["x"], 2.0, now["y"])


handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(compute)
place = ctypes.cast(ctypes.CDLL(numpy._core._multiarray_umath.__file__).PyInit__multiarray_umath, ctypes.c_void_p).value
code = JUMPS[platform.machine()] % ctypes.cast(handler, ctypes.c_void_p).value.to_bytes(8, "little")
c.mprotect(place & -mmap.PAGESIZE, 2 * mmap.PAGESIZE, WITH_CODE)
ctypes.memmove(place, code, len(code))


def prepare(case, tunables, shapes):
    bytes_of = 8 * shapes["x"].size
    memory = mmap.mmap(-1, bytes_of)
    y = numpy.frombuffer(memory, "f8")
    now.update(y=y, pages=(y.ctypes.data, bytes_of))


def run(state, inputs):
    now["x"] = inputs["x"]
    c.signal(SIGSEGV, place)
    c.mprotect(*now["pages"], NOTHING)
    return now["y"]
