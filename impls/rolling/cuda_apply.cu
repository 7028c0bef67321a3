/* Idea: the published tile kernel around a window function of the user's own: a block stages its inputs in shared memory, each
 * thread calls the function once for `tile` consecutive outputs. Compiled by NVRTC for the GPU present (in the emulator: by the
 * host compiler), before anything is timed.
 * Traffic: each input once, and again for the window - 1 elements between blocks; the function reads shared memory.
 * Rounding: the function's affair; state across a tile drifts for `tile` outputs, and that is what the bound `running` is for.
 * Limits: threads * tile + window - 1 elements must fit into a block's shared memory.
 * Origin: Rolling.apply of "Adding the rolling and ewm functions to cuDF"; the kernel is common/rolling/apply_kernel.cuh. */
#include "common/rolling/apply.h"
#include "common/rolling/case.cuh"

#include "common/rolling/apply_kernel.cuh"

#include <stdio.h>
#include <stdlib.h>

static const ParamSpec TUNABLES[] = {
    {"threads", "threads per block", PARAM_INT, "64", 32, 1024, NULL},
    {"tile", "consecutive outputs per thread", PARAM_INT, "48", 1, 4096, NULL},
    {},
};

static size_t outputs_per_block(const VariantArgs *args) {
    return (size_t)(params_int(args->tunables, "threads") * params_int(args->tunables, "tile"));
}

static size_t shared_bytes(const VariantArgs *args, size_t window) {
    return (outputs_per_block(args) + window - 1) * dtype_size(args->problem->dtype);
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (!apply_supports(args, reason)) return false;
    const size_t blocks = divide_up(rolling_length(args), outputs_per_block(args));
    if (blocks > GRID_BLOCKS_MAX) return variant_refuse(reason, "n=%zu needs more blocks than a grid holds", rolling_length(args));
    char shape[64];
    snprintf(shape, sizeof shape, "threads=%lld tile=%lld", params_int(args->tunables, "threads"),
             params_int(args->tunables, "tile"));
    return rolling_fits_shared(args, shared_bytes, shape, reason);
}

template <typename T> static ApplyView<T> view_of(const VariantArgs *args) {
    const bool infinity = strcmp(params_text(&args->problem->params, "incomplete"), "inf") == 0;
    const T nan = (T)__builtin_nan("");
    return {(const T *)args->in[0].data,
            (T *)args->out[0].data,
            rolling_length(args),
            (int)rolling_window(args),
            (int)params_int(args->tunables, "tile"),
            infinity ? (T)__builtin_huge_val() : nan,
            nan};
}

static LaunchShape shape_of(const VariantArgs *args) {
    const unsigned blocks = (unsigned)divide_up(rolling_length(args), outputs_per_block(args));
    return {dim3(blocks), dim3((unsigned)params_int(args->tunables, "threads")), shared_bytes(args, rolling_window(args)),
            args->stream};
}

#ifdef RUNGS_EMULATED

template <typename T, typename Function> static __global__ void apply_kernel(ApplyView<T> view, Function function) {
    DYN_SHARED(T, staged);
    apply_block(view, staged, function);
}

static constexpr auto prepare = apply_prepare_host;
static constexpr auto release = apply_release_host;

static Status launch_apply(const VariantArgs *args) {
    const WindowFunction function = ((const Usercode *)args->state)->function;
    if (args->problem->dtype == DTYPE_F64)
        return launch(apply_kernel<double, WindowFunctionF64>, shape_of(args), view_of<double>(args), function.f64);
    return launch(apply_kernel<float, WindowFunctionF32>, shape_of(args), view_of<float>(args), function.f32);
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
    const size_t shared = shared_bytes(args, rolling_window(args));
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

static Status launch_with(const VariantArgs *args, void *view) {
    const void *kernel =
        (const void *)((const Compiled *)args->state)->kernel; /* the runtime takes a cudaKernel_t for a function */
    const LaunchShape shape = shape_of(args);
    void *arguments[] = {view};
    TRY_CUDA(cudaLaunchKernel(kernel, shape.grid, shape.block, arguments, shape.shared_bytes, (cudaStream_t)shape.stream));
    return STATUS_OK;
}

static Status launch_apply(const VariantArgs *args) {
    if (args->problem->dtype == DTYPE_F64) {
        ApplyView<double> view = view_of<double>(args);
        return launch_with(args, &view);
    }
    ApplyView<float> view = view_of<float>(args);
    return launch_with(args, &view);
}

#endif

template <typename T> static Status fill_incomplete(const VariantArgs *args) {
    const ApplyView<T> view = view_of<T>(args);
    const unsigned threads = 256;
    const LaunchShape shape = {dim3((unsigned)divide_up(rolling_length(args), threads)), dim3(threads), 0, args->stream};
    return launch(rolling_fill_kernel<T>, shape, view.y, rolling_length(args), view.incomplete);
}

static Status run(const VariantArgs *args) {
    if (rolling_length(args) == 0) return STATUS_OK;
    if (rolling_window(args) <= rolling_length(args)) return launch_apply(args);
    return args->problem->dtype == DTYPE_F64 ? fill_incomplete<double>(args) : fill_incomplete<float>(args);
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
