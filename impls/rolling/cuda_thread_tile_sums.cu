/* Idea: cuda_thread_tile with the division off the chain: a thread carries the window's sum, adds one and drops one, and divides
 *   each output by itself, so that divisions of different outputs overlap. All inputs of a block are staged in one loop with one
 *   wait, where the published kernel waits 49 times.
 * Traffic: as cuda_thread_tile: shared reads conflict with an even tile, writes to y are one tile apart.
 * Rounding: as cuda_thread_tile, but a sum of integers stays exact. var is E[x^2] - E[x]^2: bound "textbook".
 * Limits: threads tile + w - 1 inputs must fit into shared memory (227 KiB hold 64 x 48 doubles for w <= 25985).
 * Origin: kernel C of the "Numba CUDA + cuDF" tutorial, improved. */
#include "_shared.cuh"

#include <stdio.h>

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block", PARAM_INT, "64", 1, 1024, NULL},
    {"tile", "consecutive outputs of a thread", PARAM_INT, "48", 1, 64, NULL},
    {},
};

/* A block copies the inputs of its windows into shared memory: staged[j] = x[first + j - (window - 1)] for
 * j < outputs + window - 1, where first is the block's first output. What lies outside the array is neither read nor set: no
 * complete window reaches it. */
template <typename T> __device__ void stage_inputs(const RollingView<T> &view, size_t first, unsigned outputs, T *staged) {
    const size_t before = view.window - 1;
    const unsigned count = outputs + (unsigned)before;
    for (unsigned j = threadIdx.x; j < count; j += blockDim.x) {
        const size_t shifted = first + j;
        if (shifted >= before && shifted - before < view.n) staged[j] = view.x[shifted - before];
    }
    __syncthreads();
}

template <typename T, Aggregate AGG> static __device__ T output_of_sums(T sum, T squares, T width) {
    if (AGG == AGG_SUM) return sum;
    const T mean = sum / width;
    if (AGG == AGG_MEAN) return mean;
    if (width == 1) return (T)__builtin_nan("");
    const T variance = (squares / width - mean * mean) * (width / (width - 1));
    return AGG == AGG_VAR ? variance : sqrt(variance);
}

template <typename T, Aggregate AGG>
static __global__ void __launch_bounds__(1024) sums_kernel(RollingView<T> view, unsigned tile) {
    DYN_SHARED(T, staged);
    const size_t block_first = (size_t)blockIdx.x * blockDim.x * tile;
    stage_inputs(view, block_first, blockDim.x * tile, staged);

    const unsigned begin = threadIdx.x * tile; /* the window of output first + k begins at staged[begin + k] */
    const size_t first = block_first + begin, w = view.window;
    unsigned k = 0;
    for (; k < tile && first + k < view.n && first + k + 1 < w; k++) view.y[first + k] = view.incomplete;
    if (k == tile || first + k >= view.n) return;

    if constexpr (aggregate_is_extreme(AGG)) { /* no inverse: every window again */
        for (; k < tile && first + k < view.n; k++) view.y[first + k] = Accumulator<T, AGG>::collect(staged + (begin + k), w).value;
    } else {
        const T *entering = staged + (begin + k), *leaving = entering;
        T sum = 0, squares = 0;
        for (size_t m = 0; m < w; m++) {
            const T x = *entering++;
            sum += x;
            if (aggregate_is_spread(AGG)) squares += x * x;
        }
        view.y[first + k] = output_of_sums<T, AGG>(sum, squares, (T)w);
        for (k++; k < tile && first + k < view.n; k++) {
            const T x = *entering++;
            sum += x;
            if (aggregate_is_spread(AGG)) squares += x * x;
            const T old = *leaving++;
            sum -= old;
            if (aggregate_is_spread(AGG)) squares -= old * old;
            view.y[first + k] = output_of_sums<T, AGG>(sum, squares, (T)w);
        }
    }
}

static unsigned threads_of(const VariantArgs *args) {
    return (unsigned)params_int(args->tunables, "threads");
}
static unsigned tile_of(const VariantArgs *args) {
    return (unsigned)params_int(args->tunables, "tile");
}
static size_t outputs_per_block(const VariantArgs *args) {
    return (size_t)threads_of(args) * tile_of(args);
}
static size_t shared_bytes(const VariantArgs *args, size_t window) {
    return (outputs_per_block(args) + window - 1) * dtype_size(args->problem->dtype);
}

template <typename T, Aggregate AGG> static Status launch_sums(const VariantArgs *args, RollingView<T> view) {
    const dim3 blocks((unsigned)divide_up(view.n, outputs_per_block(args))), threads(threads_of(args));
    return launch(sums_kernel<T, AGG>, {blocks, threads, shared_bytes(args, view.window), args->stream}, view, tile_of(args));
}

static Status run(const VariantArgs *args) {
    return rolling_run(args,
                       [args]<typename T, Aggregate AGG>(const RollingView<T> &view) { return launch_sums<T, AGG>(args, view); });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    char shape[64];
    snprintf(shape, sizeof shape, "%u threads x %u outputs", threads_of(args), tile_of(args));
    return rolling_supports(args, outputs_per_block(args), reason) && rolling_fits_shared(args, shared_bytes, shape, reason);
}

RUNGS_VARIANT(rolling, cuda_thread_tile_sums) = {
    .backend = BACKEND_CUDA,
    .summary = "cuda_thread_tile with undivided sums: no division on the chain, one wait per block",
    .origin = "follows from kernel C of the Numba CUDA + cuDF tutorial",
    .tunables = TUNABLES,
    .bound = "textbook",
    .supports = supports,
    .run = run,
};
