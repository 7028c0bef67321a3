"""`rungs try FILE.cu --op OP --call ...`: examples/paste.cu, a file as it is, bound to `double` by one line, in the emulator."""

import json
import platform
import shutil
import sys

import pytest

from program import BUILD, CUDA, SOURCE, call, needs_emulator, rows_of

pytestmark = needs_emulator
FILE = SOURCE / "examples/paste.cu"


def attempt(folder, *words, file=FILE):
    """What the program says, and the file's own row, if there is one."""
    out = folder / "rows.jsonl"
    out.unlink(missing_ok=True)
    shown = ("--emulate", "--verify-only", "--no-sandbox", "--variants", "cuda_naive", "--out", out)
    done = call("try", file, "--op", "double", *words, *shown, cwd=folder)
    rows = [row for row in rows_of(out) if "/try_" in row["variant"]] if out.exists() else []
    return done, rows[0] if rows else None


@pytest.mark.parametrize(
    ("words", "dtype"),
    [
        (["--call", "twice1(y, x, n, 256)"], "f32"),
        (["--call", "twice2(y, x, (int)n, 64)"], "f32"),
        (["--launch", "twice_kernel<<<ceil(n/256), 256>>>(y, x, n)"], "f32"),
        (["--launch", "twice_kernel<<<CEIL_DIV(n, 32), 32, 0, stream>>>(y, x, n)"], "f32"),
        (["--launch", "times_kernel<T, 2><<<ceil(n / 256), 256, 256 * sizeof(T)>>>(y, x, n)"], "f64"),
        ([], "f32"),  # the comment in the file
    ],
)
def test_a_line_binds_it(folder, words, dtype):
    done, row = attempt(folder, "n=1003", *words)
    assert done.returncode == 0, done.stderr
    assert (row["verdict"], row["dtype"], row["launch"]["launches"]) == ("pass", dtype, 1)
    assert row["launch"]["unnamed_streams_given"] == 1


def test_a_header_and_a_module_of_pytorchs(folder):
    """PyTorch's headers are read as the host compiler reads them, and Python is not needed."""
    header = folder / "torch/extension.h"
    header.parent.mkdir()
    header.write_text("""#pragma once
#ifdef __CUDACC__
#error "nvcc"
#endif
extern "C" void *PyModule_Create2();
""")
    file = folder / "paste.cuh"
    module = 'extern "C" __attribute__((visibility("default"))) void *PyInit_it() { return PyModule_Create2(); }\n'
    file.write_text(f"#include <torch/extension.h>\n{FILE.read_text()}{module}")
    done, row = attempt(folder, "n=1003", "-I", folder, "--call", "twice1(y, x, n, 256)", file=file)
    assert done.returncode == 0, done.stderr
    assert row["verdict"] == "pass"
    file.write_text(
        f"void elsewhere(int);\n{FILE.read_text()}void twice4(float *y, const float *x, int n) {{ elsewhere(n); }}\n"
    )
    done, _ = attempt(folder, "n=1003", "--call", "twice4(y, x, n)", file=file)
    assert done.returncode != 0
    assert "nothing that it is made of defines elsewhere(int)" in done.stderr, done.stderr


def test_types_of_the_case_and_empty_arrays(folder):
    words = "--launch", "times_kernel<T, 2><<<ceil(n/256), 256, 256 * sizeof(T)>>>(y, x, n)"
    for case in ("n=77 dtype=bf16", "n=77 dtype=f16", "n=0"):
        done, row = attempt(folder, case, *words)
        assert row["verdict"] == "pass", done.stderr
    done, row = attempt(folder, "n=77 dtype=f64", "--call", "twice1(y, x, n, 256)")
    assert row["verdict"] == "skip"
    assert "does not take f64" in row["reason"]


def test_a_wrong_call_is_found(folder):
    done, row = attempt(folder, "n=1003", "--launch", "twice_kernel<<<ceil(n/256), 256>>>(y, x, n + 1)")
    assert done.returncode == 1
    assert "out of bounds: read of 4 bytes at 0 bytes past the end of device array x (4012 bytes)" in row["reason"]
    assert "paste.cu:9" in row["reason"]
    done, row = attempt(folder, "n=1003", "--call", "twice1(y, x, n - 1, 256)")
    assert row["verdict"] == "fail"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="clang has no kernel-memory here")
@pytest.mark.parametrize(("written", "verdict"), [(32, "error"), (64, "pass")])
def test_a_value_that_was_never_set_is_found(folder, written, verdict):
    file = folder / "unset.cu"
    file.write_text("""__global__ void twice(float *y, const float *x, size_t n, int written) {
    __shared__ float part[64];
    const size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && threadIdx.x < written) part[threadIdx.x] = x[i];
    if (i < n) y[i] = 2 * part[threadIdx.x];
}
""")
    launch = f"twice<<<ceil(n/64), 64>>>(y, x, n, {written})"
    done, row = attempt(folder, "n=1003 dtype=f32", "--emulator", "memory", "--launch", launch, file=file)
    assert row["verdict"] == verdict, done.stderr
    if verdict == "error":
        assert (
            "uninitialised value: byte 128 of device array y (4012 bytes), which is copied to the host" in row["reason"]
        )
        assert "shared memory held before anything was written there; kernel twice, at unset.cu:5" in row["reason"]


def test_memory_that_a_call_keeps_is_a_leak_and_what_the_first_keeps_is_none(folder):
    text = f'#include "{FILE}"\nvoid keeps(float *y, float *x, int n, bool once) {{\n    static float *kept;\n'
    text += (
        "    if (!once || !kept) cudaMalloc(&kept, 4 * n);\n    twice_kernel<<<CEIL_DIV(n, 128), 128>>>(y, x, n);\n}\n"
    )
    (folder / "keeps.cu").write_text(text)
    for once, verdict in (("false", "fail"), ("true", "pass")):
        done, row = attempt(folder, "n=1003", "--call", f"keeps(y, x, n, {once})", file=folder / "keeps.cu")
        assert row["verdict"] == verdict, done.stderr
        assert ("leaks memory: one run ended with 4012 more bytes in use" in (row["reason"] or "")) == (once == "false")


@pytest.mark.parametrize("stream", ["own", "cudaStreamPerThread", "cudaStreamLegacy"])
def test_other_streams_stay_a_failure(folder, stream):
    text = f'#include "{FILE}"\nvoid elsewhere(float *y, float *x, int n) {{\n    static cudaStream_t own;\n'
    text += "    if (!own) cudaStreamCreate(&own);\n"
    text += f"    twice_kernel<<<CEIL_DIV(n, 128), 128, 0, {stream}>>>(y, x, n);\n}}\n"
    (folder / "elsewhere.cu").write_text(text)
    _, row = attempt(folder, "n=1003", "--call", "elsewhere(y, x, n)", file=folder / "elsewhere.cu")
    assert row["verdict"] == "fail"
    assert "works on another stream than the one it was given" in row["reason"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--call", "twice3(y, x, n, 256)"], "paste.cu has no `twice3`; it has times_kernel, twice1, twice2"),
        (
            ["--call", "twice1(out, x, n, 256)"],
            "'out'; double has the arrays x (T *), y (T *); n (long long); stream; T is",
        ),
        (["--call", "twice1(y, x, n)"], "requires 4 arguments, but 3 were provided"),
        (["--call", "twice1(n, x, y, 256)"], "from 'long long' to 'float *' for 1st argument; double has the arrays"),
        (["--launch", "twice_kernel(y, x, n)"], "'k<<<ceil(n/256), 256>>>(x, y, n)' is expected"),
        (["--call", "twice1(y, x, n, 256)", "--launch", "k<<<1, 1>>>(x)"], "--call or --launch, not both"),
    ],
)
def test_what_cannot_be_bound_is_named(folder, words, said):
    done, row = attempt(folder, "n=1003", *words)
    assert done.returncode in (1, 2)
    assert row is None
    assert said in done.stderr


def test_a_file_without_a_binding_says_what_it_lacks(folder):
    (folder / "k.cu").write_text("__global__ void k(float *y) { y[threadIdx.x] = 1; }\n")
    done, row = attempt(folder, "n=100", file=folder / "k.cu")
    assert (done.returncode, row) == (1, None)
    assert "it has no RUNGS_VARIANT: --call 'FUNCTION(...)' or --launch" in done.stderr


def test_flags_of_nvcc_and_headers_beside_it(folder):
    (folder / "own.h").write_text("#define NAME twice\n")
    (folder / "more").mkdir()
    (folder / "more/more.h").write_text("typedef float real;\n")
    text = '#include "own.h"\n#include <more.h>\nvoid NAME(real *y, real *x, int n) {{ {} }}\n__global__ void k(real *y, real *x, int n)'
    text = text.format("extern __global__ void k(real *, real *, int); k<<<(n + 63) / 64, 64>>>(y, x, n);")
    text += " { int i = blockIdx.x * 64 + threadIdx.x; if (i < n) y[i] = FACTOR * x[i]; }\n"
    (folder / "k.cu").write_text(text)
    words = "-I", "more", "-DFACTOR=2", "-O3", "-arch=sm_80", "--call", "twice(y, x, n)"
    done, row = attempt(folder, "n=100", *words, file=folder / "k.cu")
    assert row and row["verdict"] == "pass", done.stderr


@pytest.mark.skipif(not CUDA or not shutil.which("nvcc"), reason="no nvcc")
@pytest.mark.parametrize(
    "words", [["--call", "twice2(y, x, n, 256)"], ["--launch", "twice_kernel<<<ceil(n/256), 256>>>(y, x, n)"]]
)
def test_it_compiles_for_the_device(folder, words):
    """As a GPU's worker would load it: what names no stream calls the harness, and main() with its library is gone."""
    assert attempt(folder, "n=10", *words)[0].returncode == 0
    bound = BUILD / "tried/bound/double/paste.cu"
    argv = ["cmake/modules.py", BUILD / "modules", BUILD / "tried", f"native:double/try_paste:{bound}"]
    call(*argv, program=sys.executable, cwd=SOURCE)
    facts = json.loads((BUILD / "tried/double/try_paste.json").read_text())
    assert facts["error"] is None
    assert facts["variant"]["dtypes"] == ["f32"]
    names = call("-D", "--undefined-only", BUILD / "tried/double/try_paste.so", program="nm").stdout
    assert "compare_with_library" not in names
