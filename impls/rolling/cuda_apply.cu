/* Idea: the published tile kernel around the user's window function: a block stages its inputs in shared memory, each
 *   thread calls the function once for `tile` consecutive outputs. This file is compiled twice: as a variant, and at run time, its
 *   first part alone, behind the user's file by NVRTC for the GPU present (in the emulator the host compiler makes the function,
 *   and the kernel calls it). Compiling happens before anything is timed.
 * Traffic: each input once, and again for the window - 1 elements between blocks; the function reads shared memory.
 * Rounding: set by the function; state kept across a tile drifts for `tile` outputs, hence the bound `running`.
 * Limits: threads * tile + window - 1 elements must fit into a block's shared memory.
 * Origin: Rolling.apply of "Adding the rolling and ewm functions to cuDF". */
#ifndef __CUDACC_RTC__ /* NVRTC has no headers */
#include "_apply.h"
#include "_shared.cuh"

#include <stdio.h>
#include <stdlib.h>
#endif

template <typename Real> struct ApplyView {
    const Real *x;
    Real *y;
    unsigned long long n;
    int window, tile;
    Real incomplete, nothing; /* the output of an incomplete window; what is staged where there is no element */
};

/* The kernel's body, which _apply.c wraps in an entry of its own for NVRTC. A block stages the inputs of threads x tile consecutive
 * outputs and the window - 1 elements before them. Each thread hands its tile to the function, which writes to global memory, and
 * then overwrites the outputs of incomplete windows. Positions outside the array are staged as NaN, so that no function reads
 * outside it. */
template <typename Real, typename Function>
__device__ __forceinline__ void apply_block(ApplyView<Real> view, Real *staged, Function function) {
    const int history = view.window - 1, outputs = (int)blockDim.x * view.tile;
    const unsigned long long base = (unsigned long long)blockIdx.x * (unsigned long long)outputs;
    for (int k = (int)threadIdx.x; k < history + outputs; k += (int)blockDim.x) {
        const unsigned long long at = base + (unsigned long long)k; /* in an array that begins `history` elements earlier */
        const bool inside = at >= (unsigned long long)history && at - (unsigned long long)history < view.n;
        staged[k] = inside ? view.x[at - (unsigned long long)history] : view.nothing;
    }
    __syncthreads();

    const int offset = history + (int)threadIdx.x * view.tile;
    const unsigned long long first = base + (unsigned long long)threadIdx.x * (unsigned long long)view.tile;
    if (first >= view.n) return;
    const int available = first < (unsigned long long)offset ? (int)first : offset;
    const int count = view.n - first < (unsigned long long)view.tile ? (int)(view.n - first) : view.tile;
    function(staged, available, view.y + first, view.window, count, offset);
    for (int i = 0; i < count && first + (unsigned long long)i < (unsigned long long)history; i++)
        view.y[first + i] = view.incomplete;
}

#ifndef __CUDACC_RTC__

static const ParamSpec TUNABLES[] = {
    {"threads", "threads per block", PARAM_INT, "64", 32, 1024, NULL},
    {"tile", "consecutive outputs per thread", PARAM_INT, "48", 1, 4096, NULL},
    {},
};

template <typename T> static ApplyView<T> apply_view(const VariantArgs *args) {
    const RollingView<T> view = rolling_view<T>(args);
    return {
        view.x, view.y, view.n, (int)view.window, (int)params_int(args->tunables, "tile"), view.incomplete, (T)__builtin_nan("")};
}

static LaunchShape shape_of(const VariantArgs *args) {
    const unsigned blocks = (unsigned)divide_up(rolling_length(args), rolling_tile_outputs(args));
    return {dim3(blocks), dim3((unsigned)params_int(args->tunables, "threads")), rolling_tile_bytes(args, rolling_window(args)),
            args->stream};
}

#ifdef RUNGS_EMULATED

template <typename T, typename Function> static __global__ void apply_kernel(ApplyView<T> view, Function function) {
    DYN_SHARED(T, staged);
    apply_block(view, staged, function);
}

static constexpr auto prepare = apply_prepare_host;
static constexpr auto release = apply_release_host;

static Status launch_function(const VariantArgs *args, ApplyView<double> view) {
    return launch(apply_kernel<double, WindowFunctionF64>, shape_of(args), view, ((const Usercode *)args->state)->function.f64);
}
static Status launch_function(const VariantArgs *args, ApplyView<float> view) {
    return launch(apply_kernel<float, WindowFunctionF32>, shape_of(args), view, ((const Usercode *)args->state)->function.f32);
}

#else

struct Compiled {
    cudaLibrary_t library;
    cudaKernel_t kernel;
};

static Status compile(const VariantArgs *args, void **cubin) {
    int device, major, minor;
    TRY_CUDA(cudaGetDevice(&device));
    TRY_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    TRY_CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
    char architecture[16];
    snprintf(architecture, sizeof architecture, "sm_%d%d", major, minor);
    const UsercodeReal real = args->problem->dtype == DTYPE_F64 ? USERCODE_F64 : USERCODE_F32;
    return apply_compile(apply_path(args), real, architecture, CUDART_VERSION / 1000, cubin);
}

static Status load(const VariantArgs *args, const void *cubin, Compiled *out) {
    const size_t shared = rolling_tile_bytes(args, rolling_window(args));
    TRY_CUDA(cudaLibraryLoadData(&out->library, cubin, NULL, NULL, 0, NULL, NULL, 0));
    TRY_CUDA(cudaLibraryGetKernel(&out->kernel, out->library, APPLY_ENTRY));
    if (shared > 48 * 1024 && rolling_window(args) <= rolling_length(args)) /* else it is not launched */
        TRY_CUDA(cudaFuncSetAttribute((const void *)out->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
    return STATUS_OK;
}

static void release(void *state) {
    Compiled *compiled = (Compiled *)state;
    if (compiled->library) cudaLibraryUnload(compiled->library);
    free(compiled);
}

static Status prepare(const VariantArgs *args, void **state) {
    void *cubin = NULL;
    TRY(compile(args, &cubin));
    Compiled *compiled = (Compiled *)calloc(1, sizeof *compiled);
    Status status = compiled ? load(args, cubin, compiled) : status_fail(STATUS_MEMORY, "no memory");
    free(cubin);
    if (status == STATUS_OK)
        *state = compiled;
    else if (compiled)
        release(compiled);
    return status;
}

template <typename T> static Status launch_function(const VariantArgs *args, ApplyView<T> view) {
    /* the runtime takes a cudaKernel_t for a function */
    const void *kernel = (const void *)((const Compiled *)args->state)->kernel;
    const LaunchShape shape = shape_of(args);
    void *arguments[] = {&view};
    TRY_CUDA(cudaLaunchKernel(kernel, shape.grid, shape.block, arguments, shape.shared_bytes, (cudaStream_t)shape.stream));
    const unsigned grid[3] = {shape.grid.x, shape.grid.y, shape.grid.z}, block[3] = {shape.block.x, shape.block.y, shape.block.z};
    launches_add(grid, block, shape.shared_bytes); /* as launch() does */
    return STATUS_OK;
}

#endif

template <typename T> static Status run_typed(const VariantArgs *args) {
    const RollingView<T> view = rolling_view<T>(args);
    if (view.window > view.n) return rolling_fill(args, view);
    return launch_function(args, apply_view<T>(args));
}

static Status run(const VariantArgs *args) {
    return args->problem->dtype == DTYPE_F64 ? run_typed<double>(args) : run_typed<float>(args);
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (!apply_supports(args, reason)) return false;
    const size_t blocks = divide_up(rolling_length(args), rolling_tile_outputs(args));
    if (blocks > GRID_BLOCKS_MAX) return variant_refuse(reason, "n=%zu needs more blocks than a grid holds", rolling_length(args));
    char shape[64];
    snprintf(shape, sizeof shape, "threads=%lld tile=%lld", params_int(args->tunables, "threads"),
             params_int(args->tunables, "tile"));
    return rolling_fits_shared(args, rolling_tile_bytes, shape, reason);
}

RUNGS_VARIANT(rolling, cuda_apply) = {
    .backend = BACKEND_CUDA,
    .summary = "the user's window function (agg=apply) in the thread-tile kernel, compiled by NVRTC",
    .origin = "Rolling.apply of \"Adding the rolling and ewm functions to cuDF\"",
    .tunables = TUNABLES,
    .bound = "running",
    .supports = supports,
    .prepare = prepare,
    .release = release,
    .run = run,
};

#endif
