"""The hashes of machine code in rows: equal for equal instructions wherever they were compiled, different for any other instruction."""
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


def compiler():
    found = re.search(r"^CMAKE_CUDA_COMPILER:\w+=(.+)$", CONFIGURED, re.M)
    return found and shutil.which(found.group(1))


def compiled(nvcc, folder, source, *words, offset=1, calls=1):
    """Hashes of KERNEL compiled in a folder of its own."""
    folder.mkdir(parents=True)
    (folder / "kernel.cu").write_text(source)
    subprocess.run([nvcc, *words, "-lineinfo", "-O3", f"-DOFFSET={offset}", f"-DCALLS={calls}", "-gencode", "arch=compute_90,code=[compute_90,sm_90]", "-c",
                    folder / "kernel.cu", "-o", folder / "kernel.o"], check=True)
    return code_hashes.code_hashes((folder / "kernel.o").read_bytes()), (folder / "kernel.o").read_bytes()


def section_of(elf, name):
    """Offset of a section's first byte."""
    offset, = struct.unpack_from("<Q", elf, 40)
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", elf, offset + k * size) for k in range(count)]
    for header in headers:
        start = headers[names][4] + header[0]
        if elf[start:elf.index(b"\0", start)].decode().startswith(name):
            return header[4]
    raise AssertionError(f"no section {name}")


def main():
    nvcc = compiler()
    if not nvcc:
        print("a build without CUDA")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        hashes, data = compiled(nvcc, folder / "one", KERNEL)
        expect(all(re.fullmatch("[0-9a-f]{16}", h) for h in hashes), "device and host code have a hash")
        again, other = compiled(nvcc, folder / "another/place", "// moved down\n\n" + KERNEL)
        expect(again == hashes and other != data, "the same code compiled elsewhere, on other lines: another object, equal hashes")
        changed, _ = compiled(nvcc, folder / "two", KERNEL, offset=2)
        expect(changed[0] != hashes[0], "another constant in the kernel: another hash of the device's code")
        twice, _ = compiled(nvcc, folder / "three", KERNEL, calls=2)
        expect(twice[0] == hashes[0] and twice[1] != hashes[1], "the kernel called twice: only the host's hash differs")
        if "--compress-mode" in subprocess.run([nvcc, "--help"], capture_output=True, text=True).stdout:
            small, packed = compiled(nvcc, folder / "four", KERNEL, "--compress-mode=size")
            expect(packed.count(code_hashes.ZSTD_MAGIC) > data.count(code_hashes.ZSTD_MAGIC), "this one is compressed")
            expect(small == hashes, "compressed or not: equal hashes")
    cubin = next(code_hashes.cubins(data))
    at = data.index(cubin)
    for section, differs in ((".text.", True), (".debug_line", False)):
        bytes_ = bytearray(data)
        bytes_[at + section_of(cubin, section) + 8] ^= 1
        expect((code_hashes.code_hashes(bytes(bytes_)) != hashes) == differs, f"a changed byte in {section}: {'another hash' if differs else 'equal hashes'}")
    packed = bytearray(data)
    packed[at:at + 4] = code_hashes.ZSTD_MAGIC
    expect(code_hashes.code_hashes(bytes(packed)) is None, "a broken cubin has no hash")
    expect(code_hashes.code_hashes(b"nothing") is None, "no device code, no hash")

    table = dict(re.findall(r'\{"(\S+)", "(\w{16})"', (BUILD / "rungs_impls_code.c").read_text()))
    variants = set(re.findall(r'\{"(\S+/cuda_\w+)"', (BUILD / "rungs_impls_registry.c").read_text()))
    expect(set(table) == variants, f"every CUDA variant of the build has one: {len(table)}")
    with tempfile.TemporaryDirectory() as name:
        rows = pathlib.Path(name) / "rows.jsonl"
        done = call("run", "double n=1000", "--variants", "cpu_loop,cuda_naive", "--verify-only", "--out", rows)
        for row in rows_of(rows):
            code = row["code"]
            wanted = table[row["variant"]] if row["backend"] == "cuda" and row["verdict"] == "pass" else code["sass_hash"]
            expect(code["sass_hash"] == wanted and (code["sass_hash"] is None) == bool(code["reason"]), f"{row['spec']}: {code}", done)


main()
