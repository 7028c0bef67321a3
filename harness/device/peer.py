"""peer.py - what a peer may use of rungs. A peer is one file, impls/<op>/peer_<name>.py: a Python library doing the op beside us.

It has a dictionary VARIANT, a plain literal that the build reads without importing the file:

    VARIANT = {"summary": ..., "origin": ..., "framework": "pandas",
               "needs_gpu": True,         # optional
               "clock": "torch",          # on whose stream it is timed: a name of peer_libraries.LIBRARIES; default "cpu"
               "tunables": [{"name", "summary", "kind", "default", "min", "max"}],  # optional
               "bound": "textbook",       # optional: a looser bound of the op
               "accumulates": ["f64"],    # optional: of cases with `accumulate`, what it takes
               "dtypes": ["f16", "bf16"], # optional: of these, e4m3 and e5m2 those that it takes
               "options": ["layout"],     # optional: of the op's options (PARAM_OPTION) those that it takes
               "logarithms": ["gamma"],   # optional: inputs whose logarithms run() gets, as the library takes them
               "outputs": ["mean"],       # optional: gives only these of the op's outputs; the others are not judged
               "form": "numpy",           # optional: what run() gets its inputs as, a name of peer_forms.FORMS; default: that of the clock or
                                          # of the framework, else numpy
               "incomplete": "window",    # optional: the parameter (window, min_periods) of which the harness writes the incomplete outputs;
                                          # run() gives all outputs or only those that follow
               "bitmap": True,            # optional: strings always come with a validity bitmap, not only where an input has one
               "facts": ["utf8"]}         # optional: of peer_forms.FACTS; supports() finds case["facts"]["utf8"]

and three functions. `case` is the protocol's: case["params"]["window"], case["dtype"] ("f32" | "f64" | "f16" | "bf16" | ...).

    supports(case, tunables) -> None, or the reason why not. Imports nothing.
    prepare(case, tunables, shapes) -> state. Sees no data: shapes["x"] has shape, dtype and size. Imports the library (an ImportError
                                    becomes a skip) and may raise Skip.
    run(state, inputs, outputs)     of triton_<name>.py and torch_<name>.py: writes into the harness's tensors, outputs["y"], on PyTorch's current
                                    stream, and returns nothing. Their framework is triton or torch, their clock torch ("cpu" is possible) and
                                    needs_gpu true, if VARIANT does not say otherwise. The first call, which compiles, belongs to prepare().
    run(state, inputs) -> outputs   of peer_<name>.py, the call that is timed: nothing but the library's work. inputs["x"] is an array of the library, a column
                                    of strings ("names.offsets", ...) one column, inputs["names"]. Outputs are arrays of the library or
                                    of NumPy: the first output's, a tuple of all, or a dictionary by name. Where the data decide sizes, an
                                    array has as many elements as it has.

The harness makes the inputs' forms and reads the results, neither of which is timed.
"""

import ast
import ctypes
import importlib.util
import os
import pathlib
import sys


def described(path):
    """The VARIANT of a peer's file, read without importing it; ValueError: what is wrong with it."""
    found, writes = None, False
    for node in ast.parse(path.read_text(encoding="utf-8"), str(path)).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "VARIANT":
            try:
                found = ast.literal_eval(node.value)
            except ValueError as error:
                raise ValueError(f"VARIANT must be a plain literal: {error}") from None
        if isinstance(node, ast.FunctionDef) and node.name == "run":
            writes = len(node.args.args) == 3
    if not isinstance(found, dict):
        raise ValueError("no VARIANT dictionary")
    own = next((name for name in ("triton", "torch") if path.name.removeprefix("try_").startswith(f"{name}_")), None)
    if own and not writes:
        raise ValueError(f"run(state, inputs, outputs) is expected of {own}_*.py: it writes into the outputs")
    if writes:
        found = {"framework": own or "torch", "clock": "torch", "form": "torch", "into": True} | found
        found.setdefault("needs_gpu", found["clock"] != "cpu")
    return found


class Skip(Exception):
    """This machine or this library cannot do it: the row is `skip` with this text as its reason."""


HOW_TO_GET = {
    **dict.fromkeys(
        ("numpy", "scipy", "numba", "pandas", "pyarrow", "polars", "bottleneck"),
        "./rungs installs it in a source tree; else name a Python that has it in RUNGS_PYTHON (requirements.txt)",
    ),
    **dict.fromkeys(
        ("torch", "cupy", "jax"), "./rungs installs it where nvidia-smi finds a GPU (requirements-gpu.txt)"
    ),
    "ml_dtypes": "NumPy has no bfloat16 and no float8 without it: build/python/bin/pip install ml_dtypes",
    "pylibcudf": "optional, 0.4 GB: build/python/bin/pip install --no-deps --target build/cudf -r requirements-cudf.txt",
    "accelerated_scan": "optional: build/python/bin/pip install --no-deps accelerated-scan==0.3.1",
    "fla": "optional: build/python/bin/pip install --no-deps fla-core==0.6.0 einops",
    "torch_discounted_cumsum": "./rungs compiles it where nvidia-smi finds a GPU (requirements-compiled.txt)",
}


def import_numba():
    """Numba, also beside a NumPy that is newer than the Numba. Numba's import touches names that NumPy deprecated and then removed;
    each was an alias of one that is still there, so they are put back before the import."""
    import numpy

    for removed, successor in (("row_stack", "vstack"), ("in1d", "isin"), ("trapz", "trapezoid")):
        if not hasattr(numpy, removed) and hasattr(numpy, successor):
            setattr(numpy, removed, getattr(numpy, successor))
    import numba

    return numba


def import_numba_cuda():
    import_numba()
    from numba import cuda

    if not cuda.is_available():
        raise Skip("Numba finds no CUDA device")
    return cuda


def torch_device():
    """Where the tensors of a peer with the clock "torch" are."""
    return "cuda"


def import_torch_cuda():
    import torch

    if not torch.cuda.is_available():
        raise Skip("PyTorch finds no CUDA device")
    return torch


def import_jax_gpu():
    """JAX in both precisions, on a GPU, taking memory as it needs it: others use that GPU too."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax

    jax.config.update("jax_enable_x64", True)
    try:
        jax.devices("gpu")
    except RuntimeError as error:
        raise Skip("JAX finds no CUDA device") from error
    return jax


def import_library(framework, clock):
    """The library of a VARIANT, and the GPU if it is timed there."""
    on_gpu = {
        "torch": import_torch_cuda,
        "cupy": import_cupy,
        "numba": import_numba_cuda,
        "jax": import_jax_gpu,
        "cudf": import_cudf,
    }
    if clock in on_gpu:
        on_gpu[clock]()
    elif framework == "numba":
        import_numba()
    importlib.import_module(framework)


def import_cupy():
    import cupy

    try:
        found = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise Skip(f"CuPy finds no CUDA device: {error}") from error
    if found == 0:
        raise Skip("CuPy finds no CUDA device")
    return cupy


def import_cudf():
    """pylibcudf and rmm, from build/cudf or wherever Python finds them. They need newer CUDA libraries than PyTorch pins, so theirs lie in
    the same folder and are loaded from it."""
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "build/cudf"))
    spec = importlib.util.find_spec("pylibcudf")
    folder = pathlib.Path(spec.origin).parents[1] if spec else None
    for library in ("cu13/lib/libnvrtc.so.13", "cu13/lib/libnvJitLink.so.13", "cu13/lib/libcufile.so.0"):
        if folder and (folder / "nvidia" / library).exists():
            ctypes.CDLL(str(folder / "nvidia" / library), ctypes.RTLD_GLOBAL)
    import pylibcudf
    import rmm
    from cuda.bindings import runtime

    error, found = runtime.cudaGetDeviceCount()
    if error != runtime.cudaError_t.cudaSuccess or found == 0:
        raise Skip("cuDF finds no CUDA device")
    return pylibcudf, rmm
