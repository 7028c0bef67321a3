/* Idea: cuda_thread_tile_sums with its staged inputs in rows of tile elements and odd stride (tile, or tile + 1 if that is even),
 * so that the lanes of a warp, one row apart, read from different banks.
 * Traffic: as cuda_thread_tile, without the bank conflicts; writes to y are still one tile apart.
 * Rounding: as cuda_thread_tile_sums: bound "textbook".
 * Limits: the padded rows must fit into shared memory (227 KiB hold those of 64 x 48 doubles for w <= 25392).
 * Origin: follows from the bank conflicts of the published kernel. */
#include "_padded.cuh"

#include <stdio.h>

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block", PARAM_INT, "64", 1, 1024, NULL},
    {"tile", "consecutive outputs of a thread", PARAM_INT, "48", 1, 64, NULL},
    {},
};

template <typename T, Aggregate AGG> static __device__ T output_of_sums(T sum, T squares, T width) {
    if (AGG == AGG_SUM) return sum;
    const T mean = sum / width;
    if (AGG == AGG_MEAN) return mean;
    if (width == 1) return (T)__builtin_nan("");
    const T variance = (squares / width - mean * mean) * (width / (width - 1));
    return AGG == AGG_VAR ? variance : sqrt(variance);
}

template <typename T, Aggregate AGG>
static __global__ void __launch_bounds__(1024) padded_kernel(RollingView<T> view, unsigned tile) {
    DYN_SHARED(T, staged);
    const size_t block_first = (size_t)blockIdx.x * blockDim.x * tile;
    padded_stage(view, block_first, blockDim.x * tile, tile, staged);

    const unsigned begin = threadIdx.x * tile; /* the window of output first + k begins at staged input begin + k */
    const size_t first = block_first + begin, w = view.window;
    unsigned k = 0;
    for (; k < tile && first + k < view.n && first + k + 1 < w; k++) view.y[first + k] = view.incomplete;
    if (k == tile || first + k >= view.n) return;

    if constexpr (aggregate_is_extreme(AGG)) { /* no inverse: every window again */
        for (; k < tile && first + k < view.n; k++) {
            PaddedWalk<T> inputs = padded_walk(staged, begin + k, tile);
            Accumulator<T, AGG> all;
            for (size_t m = 0; m < w; m++) all.push(inputs.next());
            view.y[first + k] = all.value;
        }
    } else {
        PaddedWalk<T> entering = padded_walk(staged, begin + k, tile), leaving = entering;
        T sum = 0, squares = 0;
        for (size_t m = 0; m < w; m++) {
            const T x = entering.next();
            sum += x;
            if (aggregate_is_spread(AGG)) squares += x * x;
        }
        view.y[first + k] = output_of_sums<T, AGG>(sum, squares, (T)w);
        for (k++; k < tile && first + k < view.n; k++) {
            const T x = entering.next();
            sum += x;
            if (aggregate_is_spread(AGG)) squares += x * x;
            const T old = leaving.next();
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
    return padded_elements(outputs_per_block(args) + window - 1, tile_of(args)) * dtype_size(args->problem->dtype);
}

template <typename T, Aggregate AGG> static Status launch_padded(const VariantArgs *args, RollingView<T> view) {
    const dim3 blocks((unsigned)divide_up(view.n, outputs_per_block(args))), threads(threads_of(args));
    return launch(padded_kernel<T, AGG>, {blocks, threads, shared_bytes(args, view.window), args->stream}, view, tile_of(args));
}

static Status run(const VariantArgs *args) {
    return rolling_run(args,
                       [args]<typename T, Aggregate AGG>(const RollingView<T> &view) { return launch_padded<T, AGG>(args, view); });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    char shape[64];
    snprintf(shape, sizeof shape, "%u threads x %u outputs", threads_of(args), tile_of(args));
    return rolling_supports(args, outputs_per_block(args), reason) && rolling_fits_shared(args, shared_bytes, shape, reason);
}

RUNGS_VARIANT(rolling, cuda_thread_tile_padded) = {
    .backend = BACKEND_CUDA,
    .summary = "cuda_thread_tile_sums over rows of odd stride: no bank conflicts",
    .origin = "follows from kernel C of the Numba CUDA + cuDF tutorial",
    .tunables = TUNABLES,
    .bound = "textbook",
    .supports = supports,
    .run = run,
};
