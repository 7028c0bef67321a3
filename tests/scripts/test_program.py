"""`rungs try FILE.cu` without an op: programs of tests/programs, as they are, in the emulator."""

import os
import pathlib
import platform
import re
import subprocess
import tempfile

import pytest

from program import needs_emulator

pytestmark = needs_emulator
SOURCE = pathlib.Path(os.environ["RUNGS_SOURCE"]) / "tests/programs"
RUNGS = os.environ["RUNGS"]


def attempt(*words, cwd=SOURCE):
    return subprocess.run(
        [RUNGS, "try", "--no-sandbox", *words], cwd=cwd, check=False, capture_output=True, text=True, timeout=600
    )


def row(done, name):
    """Launches, blocks and what was found of a kernel."""
    line = next(line for line in done.stderr.splitlines() if line.startswith(name + "  "))
    launches, blocks, _, found = line[len(name) :].split(maxsplit=3)
    return int(launches), int(blocks), found


def test_launches_streams_and_the_programs_own_exit_code():
    done = attempt("launches.cu", "-arch=sm_80", "-O3", "--", "7")
    assert done.returncode == 7, done.stderr
    assert done.stdout == "sum 10300 of 10300, calls 1, timed\n"
    assert row(done, "scale") == (1, 4, "-")
    assert row(done, "increase") == (1, 4, "-")
    assert row(done, "sums::add<int, 64>") == (1, 2, "-")
    assert row(done, "by_pointer") == (1, 4, "-")
    assert attempt("launches.cu", "--emulator", "race").returncode == 0


def test_groups_half_precision_and_managed_memory():
    done = attempt("groups.cu")
    assert (done.returncode, done.stdout) == (0, "0 wrong, warps of 32, resident\n"), done.stderr


def test_arithmetic_of_16_and_8_bits_is_a_gpus():
    """halves.txt: what halves.cu says on an H200, of all pairs; here those of one upper byte, among them the largest of f16.
    Of several emulators only the first one's output is the program's."""
    lines = [line.split() for line in (SOURCE / "halves.txt").read_text().splitlines()]
    done = attempt("halves.cu", "--emulator", "address", "--", "123", "1")
    found = [line.split() for line in done.stdout.splitlines()]
    assert found == [[name, digests[123 if len(digests) > 1 else 0]] for name, *digests in lines], done.stderr


def test_cuda_std_atomics_and_thrust_by_their_own_headers():
    done = attempt("cccl.cu")
    if "'cuda/atomic' file not found" in done.stderr:
        pytest.skip("the toolkit's headers have no CCCL")
    assert (done.returncode, done.stdout) == (0, "sum 320, first 2, last 8, counted 64\n"), done.stderr


def test_block_primitives_of_cub():
    assert (done := attempt("blocks.cu")).returncode == 0, done.stderr


def test_inline_ptx_of_the_list():
    done = attempt("ptx_list.cu")
    assert (done.returncode, done.stdout) == (0, "0 wrong, products 0, 0 and 0\n"), done.stderr
    done = attempt("ptx_list.cu", "--emulator", "race", "--", "read before the wait")
    assert done.returncode == 1
    assert "writes by an asynchronous copy at ptx_list.cu:" in done.stderr
    assert row(done, "copies")[2] == "data race"


@pytest.mark.parametrize(("file", "said"), [("matrices.cu", "right\n"), ("older.cu", "7 136, device 0, 1000000 kHz\n")])
def test_matrices_of_a_warp_and_what_older_programs_have(file, said):
    done = attempt(file)
    assert (done.returncode, done.stdout) == (0, said), done.stderr


def test_a_launch_from_a_kernel_is_named_with_its_line(tmp_path):
    (tmp_path / "nested.cu").write_text("""__global__ void inner() {}
__global__ void outer() {
    inner<<<1, 1>>>();
}
int main() {
    outer<<<1, 1>>>();
}
""")
    done = attempt("nested.cu", "--emulator", "address", cwd=tmp_path)
    assert done.returncode == 1
    assert "dynamic parallelism is not emulated" in done.stderr
    assert "at nested.cu:3" in done.stderr, done.stderr


def test_functions_of_cub(tmp_path):
    (tmp_path / "sums.cu").write_text("""#include <cstdio>
#include <cub/cub.cuh>
struct Before {
    int so_far;
    __device__ int operator()(int all) { return so_far + 0 * all; }
};
__global__ void scan(int *out) {
    using Scan = cub::BlockScan<int, 64>;
    __shared__ Scan::TempStorage storage;
    const int t = threadIdx.x;
    int x[3] = {3 * t, 3 * t + 1, 3 * t + 2}, a[3], b[3], all;
    Scan(storage).ExclusiveSum(x, a, all);
    __syncthreads();
    Before before = {1000};
    Scan(storage).InclusiveScan(x, b, [](int left, int right) { return left + right; }, before);
    for (int i = 0; i < 3; i++)
        if (a[i] != x[i] * (x[i] - 1) / 2 || b[i] != 1000 + a[i] + x[i] || all != 191 * 192 / 2) atomicAdd(out, 1);
}
int main() {
    int *x, *y;
    void *memory = nullptr;
    size_t bytes = 0, more = 0;
    cudaMallocManaged(&x, 40);
    cudaMallocManaged(&y, 44);
    for (int i = 0; i < 10; i++) x[i] = i + 1;
    cub::DeviceScan::ExclusiveSum(memory, bytes, x, y, 10);
    cub::DeviceReduce::Sum(memory, more, x, y + 10, 10);
    cudaMalloc(&memory, bytes > more ? bytes : more);
    cub::DeviceScan::ExclusiveSum(memory, bytes, x, y, 10);
    cub::DeviceReduce::Sum(memory, more, x, y + 10, 10);
    cudaDeviceSynchronize();
    int wrong = 0;
    cudaMemset(x, 0, 4);
    scan<<<1, 64>>>(x);
    cudaMemcpy(&wrong, x, 4, cudaMemcpyDeviceToHost);
    printf("%d %d %d\\n", y[9], y[10], wrong);
}
""")
    done = attempt("sums.cu", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "45 55 0\n"), done.stderr
    assert row(done, "cub::DeviceScan") == (1, 1, "-")


def test_names_of_the_emulators_and_eight_bits():
    done = attempt("names.cu", "--emulator", "address")
    assert (done.returncode, done.stdout) == (0, "10\n"), done.stderr


def test_an_access_out_of_bounds_is_found():
    done = attempt("out_of_bounds.cu")
    assert done.returncode == 1
    assert "unreachable" not in done.stdout
    assert "out of bounds: write of 4 bytes at 0 bytes past the end of device array x (252 bytes)" in done.stderr
    assert "out_of_bounds.cu:4" in done.stderr
    assert row(done, "fill") == (1, 1, "out of bounds")


def test_a_race_is_found():
    done = attempt("race.cu")
    assert done.returncode == 1
    assert "dynamic shared memory" in done.stderr
    assert "race.cu:6" in done.stderr
    assert row(done, "reverse") == (1, 1, "data race")


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("library.cu", "library.cu:3: cublasSscal_v2 is not emulated"),
        ("ptx.cu", "ptx.cu:3: inline PTX is not emulated: vshr.u32.u32.u32.clamp.add"),
        ("radix_sort.cu", "radix_sort.cu:1: this header, or one that it includes, is CCCL's and not emulated"),
        ("texture.cu", "texture.cu:1: cudaTextureObject_t: textures and surfaces are not emulated"),
    ],
)
def test_what_is_missing_is_named_with_its_line(file, said):
    done = attempt(file)
    assert done.returncode == 2
    assert said in done.stderr
    assert "docs/EMULATOR.md" in done.stderr
    assert "undefined reference" not in done.stderr


def test_files_of_one_program_and_flags(tmp_path):
    (tmp_path / "kernel.cu").write_text("__global__ void put(int *x) { __shared__ int y; y = VALUE; *x = y; }\n")
    (tmp_path / "main.cpp").write_text(
        "#include <cuda_runtime.h>\n__global__ void put(int *);\n"
        "int main() { int *x; cudaMallocManaged(&x, 4); put<<<1, 1>>>(x); cudaDeviceSynchronize(); return *x + host(); }\n"
    )
    (tmp_path / "first.h").write_text("int host();\n")
    (tmp_path / "host.cpp").write_text("typedef struct { char x; } uchar4;\nint host() { return sizeof(uchar4); }\n")
    files = "kernel.cu", "main.cpp", "host.cpp"
    done = attempt(*files, "-D", "VALUE=9", "-include", "first.h", "-lcudart", cwd=tmp_path)
    assert done.returncode == 10, done.stderr


def test_launches_by_a_configuration(tmp_path):
    text = "__global__ void k(float *x, int n) { x[blockIdx.x * blockDim.x + threadIdx.x] = n; }\nint main() {\n"
    text += (
        "    float *x; cudaMallocManaged(&x, 256); cudaLaunchConfig_t config = {}; cudaLaunchAttribute attribute[1];\n"
    )
    text += "    config.gridDim = 2; config.blockDim = 32; config.attrs = attribute; config.numAttrs = 1;\n"
    text += "    attribute[0].id = WHICH;\n    attribute[0].val.cooperative = 1;\n"
    text += "    const int error = cudaLaunchKernelEx(&config, k, x, 7L); cudaDeviceSynchronize();\n"
    text += "    return error ? 90 : (int)x[63];\n}\n"
    (tmp_path / "k.cu").write_text(text)
    done = attempt("k.cu", "-DWHICH=cudaLaunchAttributeCooperative", "--emulator", "address", cwd=tmp_path)
    assert done.returncode == 7, done.stderr
    done = attempt("k.cu", "-DWHICH=cudaLaunchAttributeClusterDimension", cwd=tmp_path)
    assert done.returncode == 2
    assert "k.cu:5: cudaLaunchAttributeClusterDimension: clusters are not emulated" in done.stderr


def test_a_launch_that_hardware_would_refuse(tmp_path):
    (tmp_path / "k.cu").write_text("__global__ void k() {}\nint main() {\n  k<<<1, 2000>>>();\n  return 5;\n}\n")
    done = attempt("k.cu", cwd=tmp_path)
    assert done.returncode == 1
    assert "k.cu:3: kernel k: launch: block (2000,1,1)" in done.stderr
    assert row(done, "k") == (1, 1, "launch refused")


def test_a_crash_of_host_code_and_an_exit_code_above_128(tmp_path):
    (tmp_path / "k.cu").write_text(
        "int main(int argc, char **argv) { if (argc > 1) return -1; *(volatile int *)8 = 1; return 0; }\n"
    )
    crashed = attempt("k.cu", cwd=tmp_path)
    assert crashed.returncode == 1
    assert "(host code)" in crashed.stderr
    assert attempt("k.cu", "--", "x", cwd=tmp_path).returncode == 255


def test_new_in_kernels_and_partitions_by_label(tmp_path):
    (tmp_path / "k.cu").write_text(
        "#include <cooperative_groups.h>\n#include <string>\nnamespace cg = cooperative_groups;\n"
        "__global__ void make(int **x) { *x = new int[4]{1, 2, 3, 4}; }\n"
        "__global__ void end(int **x) { delete[] *x; }\n"
        "__global__ void use(int **x, int *sum) {\n"
        "    auto warp = cg::tiled_partition<32>(cg::this_thread_block());\n"
        "    auto part = cg::labeled_partition(warp, warp.thread_rank() % 4);\n"
        "    if (part.thread_rank() == 0) atomicAdd(sum, (*x)[warp.thread_rank() % 4] * part.size());\n}\n"
        "int main() {\n    int **x, *sum;\n    std::string text(100, 'a'), more = text + text;\n"
        "    cudaMallocManaged(&x, 8);\n    cudaMallocManaged(&sum, 4);\n    *sum = 0;\n"
        "    make<<<1, 1>>>(x);\n    use<<<1, 32>>>(x, sum);\n    end<<<1, 1>>>(x);\n"
        "    cudaDeviceSynchronize();\n    return *sum + (int)more.size() - 200;\n}\n"
    )
    assert (done := attempt("k.cu", cwd=tmp_path)).returncode == 80, done.stderr


def test_both_programs_run_and_host_code_counts(tmp_path):
    """A fault that ends the first does not keep the second from its own; the program goes on after its own undefined behaviour."""
    (tmp_path / "k.cu").write_text(
        "__global__ void k(int *x) { x[0] = threadIdx.x; __syncthreads(); if (threadIdx.x == 33) x[64] = 1; }\n"
        "int main(int argc, char **argv) {\n    int *x;\n    if (argc > 1) return (argc + 0x7ffffffe) * 0;\n"
        "    cudaMalloc(&x, 256);\n    k<<<1, 64>>>(x);\n    return cudaDeviceSynchronize();\n}\n"
    )
    done = attempt("k.cu", cwd=tmp_path)
    assert done.returncode == 1
    assert row(done, "k")[2] == "out of bounds, data race", done.stderr
    done = attempt("k.cu", "--", "overflow", cwd=tmp_path)
    assert done.returncode == 1 and "k.cu:4" in done.stderr
    assert row(done, "(host code)")[2] == "undefined behaviour"


def test_wrong_numbers_absent_lanes_and_divergent_barriers_do_not_end_a_program(tmp_path):
    """Each place once; what would come after them is not hidden."""
    (tmp_path / "k.cu").write_text(
        "#include <cstdio>\n__global__ void wrong(int *x, int n) {\n    x[threadIdx.x] = (n + (int)threadIdx.x) * 1.0;\n"
        "    x[threadIdx.x] = 1 << (threadIdx.x + 20);\n    x[threadIdx.x] = __shfl_down_sync(0xffffffff, 7, 8);\n"
        "    if (threadIdx.x < 4) {\n        __syncthreads();\n    } else {\n        __syncthreads();\n    }\n}\n"
        "__global__ void beyond(int *x) { x[threadIdx.x + 1] = 1; }\n"
        "int main(int argc, char **argv) {\n    int *x, back[16];\n    cudaMalloc(&x, sizeof back);\n"
        "    for (int i = 0; i < 20; i++) wrong<<<1, 16>>>(x, 0x7ffffff8);\n"
        "    cudaMemcpy(back, x, sizeof back, cudaMemcpyDeviceToHost);\n"
        '    printf("%d %d\\n", back[0], back[15]);\n    fflush(stdout);\n    if (argc > 1) beyond<<<1, 16>>>(x);\n}\n'
    )
    done = attempt("k.cu", "--emulator", "address", "--", "on", cwd=tmp_path)
    assert done.returncode == 1 and done.stdout == "7 7\n", done.stderr
    assert row(done, "wrong")[0::2] == (
        20,
        "undefined behaviour, shuffle from an absent lane, barrier in divergent code",
    )
    assert row(done, "beyond")[2] == "out of bounds"
    assert [line for line in (3, 4, 5) if done.stderr.count(f", at k.cu:{line}") != 1] == []


def test_many_threads_are_preempted_seldom_but_are(tmp_path):
    """The first lane of each warp waits for the last, in the last blocks of a launch as in the first."""
    (tmp_path / "k.cu").write_text(
        "__global__ void k(unsigned *x) {\n    __shared__ volatile unsigned flags[8];\n"
        "    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;\n    flags[warp] = 0;\n    __syncthreads();\n"
        "    if (lane == 31) flags[warp] = 1;\n    while (lane == 0 && !flags[warp]) {}\n"
        "    if (lane == 0) atomicAdd(x, 1);\n}\n"
        "int main() {\n    unsigned *x;\n    cudaMallocManaged(&x, 4);\n    *x = 0;\n"
        "    k<<<2048, 256>>>(x);\n    cudaDeviceSynchronize();\n    return *x != 2048 * 8;\n}\n"
    )
    assert (done := attempt("k.cu", "--emulator", "address", cwd=tmp_path)).returncode == 0, done.stderr


def test_names_of_dynamic_shared_memory_are_hidden_by_others(tmp_path):
    """One that stands outside of functions: by a parameter, a variable, a __shared__ one; not in the functions after them."""
    (tmp_path / "k.cu").write_text(
        "extern __shared__ int tile[];\nint of(const volatile int *tile, int i);\n"
        "__host__ __device__ int of(const volatile int *tile, int i) { return tile[i] * 2; }\n"
        "__global__ void own(int *x) { __shared__ int tile[4]; tile[threadIdx.x] = 3; x[threadIdx.x] = tile[threadIdx.x]; }\n"
        "__global__ void local(int *x) { int *tile = x; tile[threadIdx.x] += 4; }\n"
        "__global__ void dynamic(int *x) { tile[threadIdx.x] = x[threadIdx.x]; x[threadIdx.x] = 2 * tile[threadIdx.x] + "
        "of(tile, threadIdx.x); }\n"
        "int main() {\n    int *x, tile[4];\n    cudaMalloc(&x, 16);\n    own<<<1, 4>>>(x);\n    local<<<1, 4>>>(x);\n"
        "    dynamic<<<1, 4, 16>>>(x);\n    cudaMemcpy(tile, x, 16, cudaMemcpyDeviceToHost);\n    return tile[3];\n}\n"
    )
    assert (done := attempt("k.cu", cwd=tmp_path)).returncode == 28, done.stderr


def test_memory_of_three_dimensions(tmp_path):
    """Rows have a pitch; a copy begins where its positions say."""
    (tmp_path / "k.cu").write_text(
        "__global__ void add(cudaPitchedPtr p) {\n    char *slice = (char *)p.ptr + threadIdx.z * p.pitch * p.ysize;\n"
        "    ((int *)(slice + threadIdx.y * p.pitch))[threadIdx.x] += threadIdx.z * 100 + threadIdx.y * 10 + threadIdx.x;\n}\n"
        "int main() {\n    cudaPitchedPtr p;\n    int part[2][2] = {};\n"
        "    if (cudaMalloc3D(&p, make_cudaExtent(12, 3, 2)) || p.pitch < 12 || p.ysize != 3) return 1;\n"
        "    if (cudaMemset3D(p, 1, make_cudaExtent(12, 3, 2))) return 2;\n    add<<<1, dim3(3, 3, 2)>>>(p);\n"
        "    cudaMemcpy3DParms copy = {};\n    copy.srcPtr = p;\n    copy.srcPos = make_cudaPos(4, 1, 1);\n"
        "    copy.dstPtr = make_cudaPitchedPtr(part, 8, 2, 2);\n    copy.extent = make_cudaExtent(8, 2, 1);\n"
        "    copy.kind = cudaMemcpyDeviceToHost;\n    if (cudaMemcpy3D(&copy)) return 3;\n"
        "    copy.srcArray = (cudaArray_t)1;\n    if (cudaMemcpy3D(&copy) != cudaErrorNotSupported) return 4;\n"
        "    return part[0][0] - 0x01010101 == 111 && part[1][1] - 0x01010101 == 122 ? 0 : 5;\n}\n"
    )
    assert (done := attempt("k.cu", cwd=tmp_path)).returncode == 0, done.stderr


def test_host_memory_freed_by_another_function(tmp_path):
    """The program goes on; what new[] and delete[] make and free themselves, and libstdc++ for them, is right."""
    (tmp_path / "k.cu").write_text(
        "#include <sstream>\n__global__ void k(int *x) { x[threadIdx.x] = 1; }\n"
        "int main(int argc, char **argv) {\n    int *x;\n    double *own = new double[10], *one = new double;\n"
        "    cudaMalloc(&x, 256);\n    k<<<1, 64>>>(x);\n    std::ostringstream text;\n    text << std::string(100, 'a') << argv[0];\n"
        "    if (argc > 1)\n        delete own;\n    else\n        delete[] own;\n    delete one;\n    k<<<1, 64>>>(x);\n    return text.str().empty();\n}\n"
    )
    assert (done := attempt("k.cu", cwd=tmp_path)).returncode == 0, done.stderr
    done = attempt("k.cu", "--emulator", "address", "--", "x", cwd=tmp_path)
    assert done.returncode == 1 and "alloc-dealloc-mismatch" in done.stderr and "k.cu:11" in done.stderr, done.stderr
    assert row(done, "k") == (2, 2, "-") and row(done, "(host code)")[2] == "a fault, see above"


def test_in_the_sandbox_or_refused(tmp_path):
    """It writes to the folder that it was started in and nowhere else; where there can be no sandbox it is not run."""
    outside = pathlib.Path("/dev/shm") / f"rungs-{os.getpid()}"
    (tmp_path / "writes.cu").write_text(
        '#include <cstdio>\nint main() {\n    FILE *here = fopen("here", "w"), *there = fopen("%s", "w");\n'
        "    return (here ? 1 : 0) + (there ? 2 : 0);\n}\n" % outside
    )
    words = [RUNGS, "try", "writes.cu", "--emulator", "address"]
    done = subprocess.run(words, cwd=tmp_path, check=False, capture_output=True, text=True, timeout=600)
    if done.returncode == 4:
        assert (
            "not run (--no-sandbox runs it with all your rights): " in done.stderr and not (tmp_path / "here").exists()
        )
    else:
        assert (tmp_path / "here").exists() and not outside.exists(), done.stderr


def test_files_that_arguments_name_are_seen():
    """Those of /tmp, which the sandbox hides, too."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        here, data = pathlib.Path(folder, "program"), pathlib.Path(folder, "data")
        here.mkdir(), data.mkdir()
        (data / "named").touch(), (data / "other").touch()
        (here / "reads.cu").write_text(
            '#include <cstdio>\nint main(int argc, char **argv) {\n    FILE *named = fopen(argv[1], "r"), '
            '*written = fopen(argv[1], "w"), *other = fopen("%s", "r");\n'
            "    return (named ? 0 : 1) + (written ? 2 : 0) + (other ? 4 : 0);\n}\n" % (data / "other")
        )
        words = [RUNGS, "try", "reads.cu", "--emulator", "address", "--", "../data/named"]
        done = subprocess.run(words, cwd=here, check=False, capture_output=True, text=True, timeout=600)
        refused = done.returncode == 4 and "--no-sandbox" in done.stderr
        assert refused or done.returncode == 0, (done.returncode, done.stderr)


def test_a_crash_is_named_with_its_place(tmp_path):
    (tmp_path / "k.cu").write_text(
        "#include <cstdlib>\nint main(int argc, char **argv) {\n    volatile int zero = argc - 2;\n"
        "    if (argv[1][0] == 'a') abort();\n    return argv[1][0] == 'd' ? 5 / zero : *(volatile int *)8;\n}\n"
    )
    for word, said in (
        ("d", "crash: host code: Floating point exception, at k.cu:5"),
        ("s", "crash: host code touches address 0x8 (Segmentation fault), at k.cu:5"),
        ("a", "crash: host code: Aborted"),
    ):
        done = attempt("k.cu", "--emulator", "race", "--", word, cwd=tmp_path)
        assert done.returncode == 1 and said in done.stderr, done.stderr
        assert row(done, "(host code)")[2] == "crash"


def test_one_kernels_race_does_not_hide_anothers_and_schedules_are_counted(tmp_path):
    """main() without a return is right C++."""
    (tmp_path / "k.cu").write_text(
        "__global__ void same(int *x) { *x = 1; }\n__global__ void other(int *x) { *x = threadIdx.x; }\n"
        "__global__ void right(int *x) { x[threadIdx.x] = 1; }\n"
        "int main() {\n    int *x;\n    cudaMalloc(&x, 256);\n    same<<<1, 64>>>(x);\n    other<<<1, 64>>>(x);\n"
        "    right<<<1, 64>>>(x);\n    right<<<1, 64>>>(x);\n}\n"
    )
    done = attempt("k.cu", cwd=tmp_path)
    assert done.returncode == 1
    assert row(done, "same") == (1, 1, "same-value race")
    assert row(done, "other") == (1, 1, "data race")
    assert row(done, "right") == (2, 2, "-")
    line = next(line for line in done.stderr.splitlines() if line.startswith("right"))
    assert line.split() == ["right", "2", "2", "12", "-"]


def test_a_local_variable_that_is_not_initialised_is_told_once(tmp_path):
    """By the compiler, as the value goes nowhere. Of CUDA's headers and of what is right nothing is said."""
    (tmp_path / "k.cu").write_text(
        "#include <cuda_fp16.h>\n__global__ void k(int *x) {\n    int code, right = 1;\n    if (x[0] > 5) code = 1;\n    x[0] = code + right;\n}\n"
        "int main() {\n    int *x;\n    cudaMalloc(&x, 4);\n    cudaMemset(x, 0, 4);\n    k<<<1, 1>>>(x);\n}\n"
    )
    done = attempt("k.cu", cwd=tmp_path)
    told = [line for line in done.stderr.splitlines() if "warning" in line]
    assert len(told) == 1 and told[0].startswith("rungs try: k.cu:4:") and "'code'" in told[0], done.stderr
    assert done.returncode == 0 and row(done, "k") == (1, 1, "-")


def test_a_store_that_the_compiler_made_of_two_is_at_one_of_their_lines(tmp_path):
    """It has no line of its own; that of the launch, into which the kernel is inlined, is wrong."""
    (tmp_path / "k.cu").write_text(
        "__global__ void k(int *x, int c) {\n    if (c)\n        x[0] = threadIdx.x;\n    else\n        x[0] = threadIdx.x + 1;\n}\n"
        "int main(int argc, char **) {\n    int *x;\n    cudaMalloc(&x, 4);\n    k<<<1, 64>>>(x, argc);\n}\n"
    )
    done = attempt("k.cu", "--emulator", "race", cwd=tmp_path)
    assert row(done, "k") == (1, 1, "data race")
    lines = set(re.findall(r"at k\.cu:(\d+)", done.stderr))
    assert lines and lines <= {"2", "3", "5"}, done.stderr


CAUSES = {  # kernel: what is found in it
    "scope": "data race",
    "scope_right": "-",
    "device_variable": "data race",
    "unread_variable": "data race",
    "lock_right": "-",
    "sequence_right": "-",
    "no_fence_after": "-",
    "fence_after_right": "-",
    "release_of_block": "data race",
    "release_right": "-",
    "copy_read_early": "data race",
    "same_value": "same-value race",
    "unset": "uninitialised read",
    "exchange_right": "-",
}
VOLATILE_AS_PLAIN = {
    **{kernel: "-" for kernel in ("scope_right", "lock_right", "sequence_right", "fence_after_right")},
    "no_fence_after": "data race",
}


@pytest.mark.parametrize(("volatile", "causes"), [(None, CAUSES), ("0", VOLATILE_AS_PLAIN)])
def test_causes_of_missed_races_and_false_alarms(volatile, causes, monkeypatch):
    if volatile:
        monkeypatch.setenv("RUNGS_EMULATOR_VOLATILE", volatile)
    done = attempt("causes.cu", "--emulator", "race", "--", *causes)
    assert {kernel: row(done, kernel)[2] for kernel in causes} == causes, done.stderr


VALUE, NOTE = "uninitialised value", "note: copy of unset memory"
USES = [
    *("branch", "address", "copied_to_host", "by_shuffle", "by_vote", "by_barrier", "by_shared"),
    *("by_asynchronous_copy", "by_atomic", "by_local", "by_heap"),
]
RIGHT = [
    *("unused_right", "shuffle_right", "ballot_right", "shared_right", "asynchronous_copy_right", "exchange_right"),
    *("local_right", "structure_right", "library_right"),
]


@pytest.mark.parametrize("kernels", [USES[:6], USES[6:], RIGHT])
def test_values_that_were_never_set(kernels):
    """A process says ten things at most."""
    done = attempt("unset.cu", "--emulator", "memory", "--", *kernels)
    found = {kernel: row(done, kernel)[2] for kernel in kernels}
    assert found == {kernel: VALUE if kernel in USES else "-" for kernel in kernels}, done.stderr
    assert done.stderr.count("rungs-emulator: ") == sum(kernel in USES for kernel in kernels), done.stderr
    assert done.returncode == (kernels is not RIGHT)


def test_what_an_unset_value_is_of_and_where_it_was_stored():
    said = attempt("unset.cu", "--emulator", "memory", "--", "copied_to_host").stderr
    assert f"{VALUE}: byte 128 of device array out (256 bytes), which is copied to the host" in said
    assert (
        "device array beside (256 bytes) held before anything was written there; kernel copied_to_host, at unset.cu:23"
        in said
    )
    assert "the local variable sums" in attempt("unset.cu", "--emulator", "memory", "--", "by_local").stderr


def test_reads_that_nobody_uses_and_copies_of_unset_memory_are_classes_of_their_own(monkeypatch):
    """By all emulators: notes, which are no fault; or what the settings make of them."""
    done = attempt("unset.cu", "--", "unused_right")
    assert done.returncode == 0 and row(done, "unused_right")[2] == "note: uninitialised read", done.stderr
    done = attempt("unset.cu", "--", "padded")
    assert done.returncode == 0 and row(done, "(host code)")[2] == NOTE, done.stderr
    monkeypatch.setenv("RUNGS_EMULATOR_INIT", "2")
    assert row(attempt("unset.cu", "--", "unused_right"), "unused_right")[2] == "uninitialised read"
    for value, found in (("0", None), ("2", NOTE.removeprefix("note: "))):
        monkeypatch.setenv("RUNGS_EMULATOR_UNSET_COPIES", value)
        done = attempt("unset.cu", "--emulator", "memory", "--", "padded")
        assert done.returncode == (1 if found else 0)
        assert not found or row(done, "(host code)")[2] == found


def test_exceptions_of_host_code_are_no_fault():
    done = attempt("unset.cu", "--", "thrown")
    assert done.returncode == 0 and "caught" in done.stdout, done.stderr


def test_doctor_lists_the_emulators():
    done = subprocess.run([RUNGS, "doctor"], check=False, capture_output=True, text=True, timeout=600)
    told = re.findall(r"^ok  emulator     (rungs-emulator\S*)", done.stdout, re.MULTILINE)
    there = ["", "-race"] + ["-memory"] * (platform.machine() == "x86_64")
    assert told == [f"rungs-emulator{kind}" for kind in there], done.stdout
