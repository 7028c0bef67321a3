"""The hashes of machine code in rows: equal for equal instructions wherever they were compiled, different for any other instruction."""

import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

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


def compiler():
    found = re.search(r"^CMAKE_CUDA_COMPILER:\w+=(.+)$", CONFIGURED, re.M)
    return found and shutil.which(found.group(1))


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


def dependencies(nvcc, folder):
    """Code that differs in nothing but what it refers to."""
    usual, _ = compiled(nvcc, folder / "usual", DEPENDENT, *words_of())
    elsewhere, _ = compiled(nvcc, folder / "elsewhere/deep", DEPENDENT, *words_of())
    expect(usual is not None and elsewhere == usual, "the same constants and calls compiled elsewhere: equal hashes")
    for part, what, macros in (
        (0, "a constant of the device", {"CONSTANT": 5}),
        (0, "an array of the device", {"GLOBAL": 5}),
        (1, "a table of the host", {"SIZE": 9}),
        (1, "a table of functions", {"STEP": "one"}),
        (1, "a string", {"TEXT": '"other"'}),
        (1, "another function called", {"CALLED": "two"}),
        (1, "two kernels that change their names", {"FIRST": "second", "SECOND": "first"}),
    ):
        changed, _ = compiled(nvcc, folder / what.replace(" ", "_"), DEPENDENT, *words_of(**macros))
        expect(changed[part] != usual[part], f"{what}: another hash of the {'host' if part else 'device'}'s code")
        if part == 1:
            expect(changed[0] == usual[0], f"{what}: an equal hash of the device's code")

    data = (folder / "usual/kernel.o").read_bytes()
    alone, helped = usual, []
    for known in (1, 2):
        compiled(nvcc, folder / f"helper{known}", HELPER.replace("KNOWN", str(known)))
        helped.append(hashes_of(data, shared=[code_hashes.Object((folder / f"helper{known}/kernel.o").read_bytes())]))
    expect(
        len({alone, *helped}) == 3 and len({h[0] for h in helped}) == 1,
        "an object that it shares with others is part of the host's code",
    )
    loader, _ = compiled(
        nvcc,
        folder / "loader",
        DEPENDENT.replace("int load(", "int cuModuleLoadData(").replace("load(TEXT)", "cuModuleLoadData(TEXT)"),
        *words_of(),
    )
    expect(loader is None, "device code that is loaded at run time: no hash")


def paths(nvcc, folder):
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


def on_the_cpu(folder):
    """By itself, with what it calls of others, and of nobody that the build knows."""
    helpers = {
        divisor: [
            code_hashes.Object(built(folder / f"{divisor}/impls/axpy/{name}.c", source, DIVISOR=divisor))
            for name, source in (("_help", CPU_HELPER), ("_deep", CPU_DEEPER))
        ]
        for divisor in (2, 4)
    }
    runtimes = code_hashes.runtime_offers()

    def hash_of(place, divisor=2, file="cpu_loop.c", words=(), **macros):
        data = built(folder / place / "impls/axpy" / file, LOOP, *words, **{**CPU_USUAL, **macros})
        return hashes_of(
            data, False, shared=helpers[divisor], known=runtimes, source=str(folder / place), own=f"/axpy/{file}"
        )

    usual = hash_of("one")
    expect(
        usual[0] is None and re.fullmatch("[0-9a-f]{16}", usual[1]), f"a CPU variant has a hash, of the host: {usual}"
    )
    expect(hash_of("another/place/further") == usual, "elsewhere: an equal hash")
    expect(
        hash_of("two", file="cpu_plain.c", NAME="second", VARIANT="rungs_variant_axpy__cpu_plain") == usual,
        "other names, of the file too: an equal hash",
    )
    for what, macros in (
        ("a constant", {"FACTOR": 5}),
        ("a table", {"ENTRY": 4}),
        ("a call more", {"MORE": "y[0] = helped(1);"}),
        ("a function of libm", {"MORE": "y[0] = exp(y[0]);"}),
        ("what the descriptor says", {"SUMMARY": '"two loops"'}),
        ("options of the compiler", {"words": ("-march=x86-64-v3", "-ffast-math")}),
    ):
        expect(hash_of(what.replace(" ", "_"), **macros) not in (usual, None), f"{what}: another hash")
    expect(hash_of("helped", divisor=4) not in (usual, None), "what a shared object that it calls calls: another hash")
    expect(hash_of("outside", MORE="y[0] = other(1);") is None, "a library's function, which may change alone: no hash")
    expect(
        hash_of("loads", MORE="dlopen(0, 0);", words=("-Wno-implicit-function-declaration",)) is None,
        "code that is loaded at run time: no hash",
    )
    expect(hash_of("late", words=("-flto", "-fno-fat-lto-objects")) is None, "code that the linker makes: no hash")


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


def on_the_device(nvcc):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        hashes, data = compiled(nvcc, folder / "one", KERNEL)
        expect(all(re.fullmatch("[0-9a-f]{16}", h) for h in hashes), "device and host code have a hash")
        again, other = compiled(nvcc, folder / "another/place", "// moved down\n\n" + KERNEL)
        expect(
            again == hashes and other != data,
            "the same code compiled elsewhere, on other lines: another object, equal hashes",
        )
        changed, _ = compiled(nvcc, folder / "two", KERNEL, offset=2)
        expect(changed[0] != hashes[0], "another constant in the kernel: another hash of the device's code")
        twice, _ = compiled(nvcc, folder / "three", KERNEL, calls=2)
        expect(twice[0] == hashes[0] and twice[1] != hashes[1], "the kernel called twice: only the host's hash differs")
        dependencies(nvcc, folder / "dependencies")
        paths(nvcc, folder / "paths")
        if "--compress-mode" in subprocess.run([nvcc, "--help"], capture_output=True, text=True).stdout:
            small, packed = compiled(nvcc, folder / "four", KERNEL, "--compress-mode=size")
            expect(packed.count(code_hashes.ZSTD_MAGIC) > data.count(code_hashes.ZSTD_MAGIC), "this one is compressed")
            expect(small == hashes, "compressed or not: equal hashes")
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
    expect(hashes_of(bytes(packed)) is None, "a broken cubin has no hash")
    expect(hashes_of(b"nothing") is None, "no device code, no hash")


def main():
    with tempfile.TemporaryDirectory() as name:
        on_the_cpu(pathlib.Path(name))
    nvcc = compiler()
    if nvcc:
        on_the_device(nvcc)
    kept = [
        json.loads(path.read_text()) for path in (BUILD / "modules").glob("*/c*_*.json") if path.name.count(".") == 1
    ]
    table = {
        facts["path"].removeprefix("impls/").split(".")[0]: facts["code"]["host_hash"]
        for facts in kept
        if (SOURCE / facts["path"]).exists()  # those of a variant that is gone stay in the folder
    }
    without = {name for name, found in table.items() if found is None}
    expect(
        len(table) > 10 and without == {name for name in table if name.endswith("_apply")},
        f"every variant of the build has one, but for those that load the user's code: {sorted(without)}",
    )
    with tempfile.TemporaryDirectory() as name:
        rows = pathlib.Path(name) / "rows.jsonl"
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
        expect(any(row["code"]["host_hash"] for row in rows_of(rows)), "a CPU variant's row has it", done)


main()
