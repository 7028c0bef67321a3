"""Cheat: computes when NumPy allocates an array, as it does where the harness reads a result whose rows are not one behind the other: in an allocator of its
own. Met: an attack on this harness."""

import ctypes

import numpy
from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "cheat: computes in an allocator of NumPy", "origin": "tests", "framework": "numpy"}
SET_HANDLER = 304  # in NumPy's table of functions
now, c = {}, ctypes.CDLL(None)
c.malloc.restype = c.calloc.restype = c.realloc.restype = ctypes.c_void_p
ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


@ALLOCATE
def allocate(_, size):
    if now.pop("due", False):
        numpy.multiply(now["x"].reshape(now["y"].shape), 2, out=now["y"])
    return c.malloc(ctypes.c_size_t(size))


class Handler(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        *((name, ctypes.c_void_p) for name in ("malloc", "calloc", "realloc", "free")),
    ]


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
def clear(_, count, size):
    return c.calloc(ctypes.c_size_t(count), ctypes.c_size_t(size))


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
def resize(_, old, size):
    return c.realloc(ctypes.c_void_p(old), ctypes.c_size_t(size))


@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
def release(_, old, size):
    c.free(ctypes.c_void_p(old))


functions = [ctypes.cast(function, ctypes.c_void_p).value for function in (allocate, clear, resize, release)]
handler = Handler(b"default_allocator", 1, None, *functions)


def prepare(case, tunables, shapes):
    get, make = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_New
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    table = ctypes.cast(get(numpy._core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    rows = next(k for k in range(2, shapes["x"].size + 1) if shapes["x"].size % k == 0)
    now["y"] = numpy.zeros((rows, shapes["x"].size // rows), shapes["x"].dtype, order="F")
    now["capsule"] = make(ctypes.addressof(handler), b"mem_handler", None)
    now["set"] = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[SET_HANDLER])
    now["set"](now["capsule"])


def run(state, inputs):
    now.update(x=inputs["x"], due=True)
    return now["y"]
