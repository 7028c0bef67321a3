"""The hashes of machine code in rows: equal for equal instructions wherever they were compiled, different for any other instruction."""

import json
import re
import shutil
import struct
import subprocess
import sys

import pytest

from program import BUILD, CONFIGURED, SOURCE, call, expect, rows_of

sys.path.append(str(SOURCE / "cmake"))
import code_hashes  # noqa: E402

KERNEL = """
static __global__ void kernel(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = x[i] * 3 + OFFSET; }
extern "C" void run(float *x, int n) { for (int k = 0; k < CALLS; k++) kernel<<<n / 64 + 1, 64>>>(x, n); }
"""


# What decides what it does lies outside of its instructions, or in which of two alike is meant.
DEPENDENT = """
typedef int Step(int);
__constant__ float table[4] = {1, 2, 3, CONSTANT};
static __device__ const float other_table[4] = {1, 2, 3, GLOBAL};
static const int sizes[8] = {1, 2, 3, 4, 5, 6, 7, SIZE};
extern "C" { int one(int); int two(int); int load(const char *); }
static Step *const steps[2] = {one, STEP};
static __global__ void FIRST(float *x) { x[threadIdx.x] *= table[threadIdx.x & 3] + other_table[threadIdx.x & 3]; }
static __global__ void SECOND(float *x) { x[threadIdx.x] = sinf(x[threadIdx.x]); }
extern "C" void run(float *x, int n) {
    first<<<steps[n & 1](n) + sizes[n & 7], 64>>>(x);
    if (load(TEXT)) second<<<1, 64>>>(x);
    CALLED(n);
}
"""
USUAL = {
    "CONSTANT": 4,
    "GLOBAL": 4,
    "SIZE": 8,
    "STEP": "two",
    "FIRST": "first",
    "SECOND": "second",
    "TEXT": '"words"',
    "CALLED": "one",
}
HELPER = (
    'extern "C" int load(const char *text) { static const int known[2] = {1, KNOWN}; return known[text[0] & 1]; }\n'
)


@pytest.fixture(scope="module")
def nvcc():
    found = re.search(r"^CMAKE_CUDA_COMPILER:\w+=(.+)$", CONFIGURED, re.M)
    return found and shutil.which(found.group(1)) or pytest.skip("this build has no nvcc")


def compiled(nvcc, folder, source, *words, offset=1, calls=1):
    """Hashes of KERNEL compiled in a folder of its own."""
    folder.mkdir(parents=True)
    (folder / "kernel.cu").write_text(source)
    subprocess.run(
        [
            nvcc,
            *words,
            "-lineinfo",
            "-O3",
            f"-DOFFSET={offset}",
            f"-DCALLS={calls}",
            "-gencode",
            "arch=compute_90,code=[compute_90,sm_90]",
            "-c",
            folder / "kernel.cu",
            "-o",
            folder / "kernel.o",
        ],
        check=True,
    )
    return hashes_of((folder / "kernel.o").read_bytes()), (folder / "kernel.o").read_bytes()


def hashes_of(data, on_device=True, **words):
    """(device, host), None where there is a reason why not."""
    *found, reason = code_hashes.code_hashes(data, on_device, **words)
    expect((reason is None) == (found[1] is not None), f"a hash or a reason: {found}, {reason}")
    return None if reason else tuple(found)


def words_of(**macros):
    return [f"-D{name}={value}" for name, value in {**USUAL, **macros}.items()]


@pytest.fixture(scope="module")
def usual(nvcc, shared_folder):
    """Of DEPENDENT: (hashes, object file)."""
    return compiled(nvcc, shared_folder / "usual", DEPENDENT, *words_of())


def test_the_same_constants_and_calls_compiled_elsewhere(nvcc, folder, usual):
    elsewhere, _ = compiled(nvcc, folder / "elsewhere/deep", DEPENDENT, *words_of())
    assert usual[0] is not None and elsewhere == usual[0]


@pytest.mark.parametrize(
    "part, macros",
    [
        pytest.param(0, {"CONSTANT": 5}, id="a constant of the device"),
        pytest.param(0, {"GLOBAL": 5}, id="an array of the device"),
        pytest.param(1, {"SIZE": 9}, id="a table of the host"),
        pytest.param(1, {"STEP": "one"}, id="a table of functions"),
        pytest.param(1, {"TEXT": '"other"'}, id="a string"),
        pytest.param(1, {"CALLED": "two"}, id="another function called"),
        pytest.param(1, {"FIRST": "second", "SECOND": "first"}, id="two kernels that change their names"),
    ],
)
def test_code_that_differs_in_nothing_but_what_it_refers_to(nvcc, folder, usual, part, macros):
    changed, _ = compiled(nvcc, folder / "changed", DEPENDENT, *words_of(**macros))
    assert changed[part] != usual[0][part], f"another hash of the {'host' if part else 'device'}'s code"
    assert part == 0 or changed[0] == usual[0][0], "an equal hash of the device's code"


def test_an_object_that_is_shared_is_part_of_the_code(nvcc, folder, usual):
    (alone, data), helped = usual, []
    for known in (1, 2):
        compiled(nvcc, folder / f"helper{known}", HELPER.replace("KNOWN", str(known)))
        helped.append(hashes_of(data, shared=[code_hashes.Object((folder / f"helper{known}/kernel.o").read_bytes())]))
    assert len({alone, *helped}) == 3 and len({h[0] for h in helped}) == 1, "of the host's"


def test_device_code_that_is_loaded_at_run_time_has_no_hash(nvcc, folder):
    loader, _ = compiled(
        nvcc,
        folder / "loader",
        DEPENDENT.replace("int load(", "int cuModuleLoadData(").replace("load(TEXT)", "cuModuleLoadData(TEXT)"),
        *words_of(),
    )
    assert loader is None


def test_paths_of_cuda_code(nvcc, folder):
    """__FILE__ is told without the folder of the source."""
    source = 'extern "C" void tell(const char *);\n' + KERNEL.replace("{ for", "{ tell(__FILE__); for")
    found = []
    for name in ("here", "there/and/further"):
        compiled(nvcc, folder / name, source)
        found += [
            hashes_of((folder / name / "kernel.o").read_bytes(), source=place) for place in (str(folder / name), "")
        ]
    expect(found[0] == found[2] and found[1] != found[3], "a path within the source is told without what is before it")


LOOP = """
#include <math.h>
#include <string.h>
typedef struct Variant { const char *summary; int (*run)(const double *, double *, int); } Variant;
double helped(double); void tell(const char *); double other(double);
static double NAME(double x) { return x * FACTOR + sin(x); }
int run(const double *x, double *y, int n) {
    static const double table[3] = {1, 2, ENTRY};
    #pragma omp parallel for
    for (int i = 0; i < n; i++) y[i] = helped(NAME(x[i])) + table[i % 3];
    tell(__FILE__);
    MORE
    return n;
}
const Variant VARIANT = {SUMMARY, run};
"""
CPU_USUAL = {
    "NAME": "first",
    "FACTOR": 3,
    "ENTRY": 3,
    "MORE": "",
    "VARIANT": "rungs_variant_axpy__cpu_loop",
    "SUMMARY": '"a loop"',
}
CPU_HELPER = "double deeper(double); double helped(double x) { return deeper(x) + 1; }\n"
CPU_DEEPER = "double deeper(double x) { return x / DIVISOR; }\nvoid tell(const char *x) { (void)x; }\n"


def built(path, source, *words, **macros):
    """An object file, as the build makes it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    subprocess.run(
        [
            "gcc",
            "-std=c17",
            "-O3",
            "-fopenmp",
            f"-fmacro-prefix-map={path.parents[2]}/=",
            *words,
            *(f"-D{name}={value}" for name, value in macros.items()),
            "-c",
            path,
            "-o",
            path.with_suffix(".o"),
        ],
        check=True,
    )
    return path.with_suffix(".o").read_bytes()


@pytest.fixture(scope="module")
def hash_of(shared_folder):
    """Of LOOP: by itself, with what it calls of others, and of nobody that the build knows."""
    helpers = {
        divisor: [
            code_hashes.Object(built(shared_folder / f"{divisor}/impls/axpy/{name}.c", source, DIVISOR=divisor))
            for name, source in (("_help", CPU_HELPER), ("_deep", CPU_DEEPER))
        ]
        for divisor in (2, 4)
    }
    runtimes = code_hashes.runtime_offers()

    def hash_of(place, divisor=2, file="cpu_loop.c", words=(), **macros):
        folder = shared_folder / place
        data = built(folder / "impls/axpy" / file, LOOP, *words, **{**CPU_USUAL, **macros})
        helped = {"shared": helpers[divisor], "known": runtimes}
        return hashes_of(data, False, **helped, source=str(folder), own=f"/axpy/{file}")

    return hash_of


@pytest.fixture(scope="module")
def usual_cpu(hash_of):
    return hash_of("one")


def test_a_cpu_variant_has_a_hash_of_the_host(usual_cpu):
    assert usual_cpu[0] is None and re.fullmatch("[0-9a-f]{16}", usual_cpu[1])


def test_places_and_names_leave_the_hash_as_it_is(hash_of, usual_cpu):
    assert hash_of("another/place/further") == usual_cpu
    names = {"file": "cpu_plain.c", "NAME": "second", "VARIANT": "rungs_variant_axpy__cpu_plain"}
    assert hash_of("two", **names) == usual_cpu


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"FACTOR": 5}, id="a constant"),
        pytest.param({"ENTRY": 4}, id="a table"),
        pytest.param({"MORE": "y[0] = helped(1);"}, id="a call more"),
        pytest.param({"MORE": "y[0] = exp(y[0]);"}, id="a function of libm"),
        pytest.param({"SUMMARY": '"two loops"'}, id="what the descriptor says"),
        pytest.param({"words": ("-march=x86-64-v3", "-ffast-math")}, id="options of the compiler"),
        pytest.param({"divisor": 4}, id="what a shared object that it calls calls"),
    ],
)
def test_other_code_has_another_hash(hash_of, usual_cpu, changed):
    assert hash_of("other", **changed) not in (usual_cpu, None)


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"MORE": "y[0] = other(1);"}, id="a function of a library, which may change alone"),
        pytest.param(
            {"MORE": "dlopen(0, 0);", "words": ("-Wno-implicit-function-declaration",)}, id="loaded at run time"
        ),
        pytest.param({"words": ("-flto", "-fno-fat-lto-objects")}, id="made by the linker"),
    ],
)
def test_code_that_is_not_there_has_no_hash(hash_of, changed):
    assert hash_of("other", **changed) is None


def section_of(elf, name):
    """Offset of a section's first byte."""
    (offset,) = struct.unpack_from("<Q", elf, 40)
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", elf, offset + k * size) for k in range(count)]
    for header in headers:
        start = headers[names][4] + header[0]
        if elf[start : elf.index(b"\0", start)].decode().startswith(name):
            return header[4]
    raise AssertionError(f"no section {name}")


@pytest.fixture(scope="module")
def kernel(nvcc, shared_folder):
    """Of KERNEL: (hashes, object file)."""
    return compiled(nvcc, shared_folder / "kernel", KERNEL)


def test_device_and_host_code_have_a_hash(kernel):
    assert all(re.fullmatch("[0-9a-f]{16}", found) for found in kernel[0])


def test_the_same_code_compiled_elsewhere_on_other_lines(nvcc, folder, kernel):
    again, other = compiled(nvcc, folder / "another/place", "// moved down\n\n" + KERNEL)
    assert again == kernel[0] and other != kernel[1], "another object, equal hashes"


def test_another_constant_in_the_kernel(nvcc, folder, kernel):
    assert compiled(nvcc, folder / "two", KERNEL, offset=2)[0][0] != kernel[0][0]


def test_a_kernel_that_is_called_twice(nvcc, folder, kernel):
    twice, _ = compiled(nvcc, folder / "three", KERNEL, calls=2)
    assert twice[0] == kernel[0][0] and twice[1] != kernel[0][1], "only the host's hash differs"


def test_compressed_or_not(nvcc, folder, kernel):
    if "--compress-mode" not in subprocess.run([nvcc, "--help"], capture_output=True, text=True).stdout:
        pytest.skip("this nvcc compresses nothing")
    small, packed = compiled(nvcc, folder / "four", KERNEL, "--compress-mode=size")
    assert packed.count(code_hashes.ZSTD_MAGIC) > kernel[1].count(code_hashes.ZSTD_MAGIC), "it is compressed"
    assert small == kernel[0]


def test_a_changed_byte_of_a_cubin(kernel):
    hashes, data = kernel
    cubin = next(code_hashes.cubins(data))
    at = data.index(cubin)
    for section, differs in ((".text.", True), (".debug_line", False)):
        bytes_ = bytearray(data)
        bytes_[at + section_of(cubin, section) + 8] ^= 1
        expect(
            (hashes_of(bytes(bytes_)) != hashes) == differs,
            f"a changed byte in {section}: {'another hash' if differs else 'equal hashes'}",
        )
    packed = bytearray(data)
    packed[at : at + 4] = code_hashes.ZSTD_MAGIC
    assert hashes_of(bytes(packed)) is None, "a broken cubin has no hash"
    assert hashes_of(b"nothing") is None, "no device code, no hash"


@pytest.fixture(scope="module")
def table():
    """Variants of the build: the hash that is kept with the module."""
    kept = [
        json.loads(path.read_text()) for path in (BUILD / "modules").glob("*/c*_*.json") if path.name.count(".") == 1
    ]
    return {
        facts["path"].removeprefix("impls/").split(".")[0]: facts["code"]["host_hash"]
        for facts in kept
        if (SOURCE / facts["path"]).exists()  # those of a variant that is gone stay in the folder
    }


def test_every_variant_has_one_but_for_those_that_load_code_of_the_user(table):
    without = {name for name, found in table.items() if found is None}
    assert len(table) > 10 and without == {name for name in table if name.endswith("_apply")}


def test_rows_have_the_hash_of_the_build(folder, table):
    rows = folder / "rows.jsonl"
    done = call("run", "double n=1000", "--variants", "c*", "--verify-only", "--out", rows)
    for row in rows_of(rows):
        code = row["code"]
        wanted = None if row["backend"] == "emulator" else table[row["variant"]]
        expect(
            code["host_hash"] == wanted and (code["host_hash"] is None) == bool(code["reason"]),
            f"{row['spec']}: {code}",
            done,
        )
        expect((code["sass_hash"] is None) == (row["backend"] != "cuda"), f"{row['spec']}: {code}", done)
    assert any(row["code"]["host_hash"] for row in rows_of(rows)), "a CPU variant's row has it"
