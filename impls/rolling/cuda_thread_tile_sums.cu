/* Idea: cuda_thread_tile with the division off the chain: a thread carries the window's sum, adds one and drops one, and divides
 *   each output by itself, so that divisions of different outputs overlap. All inputs of a block are staged in one loop with one
 *   wait, where the published kernel waits 49 times.
 *   padded=1: the staged inputs in rows of tile elements and odd stride (tile, or tile + 1 if that is even), so that the lanes of a
 *   warp, one row apart, read from different banks.
 * Traffic: as cuda_thread_tile: shared reads conflict with an even tile (padded=1: they do not), writes to y are one tile apart.
 * Rounding: as cuda_thread_tile, but a sum of integers stays exact. var is E[x^2] - E[x]^2: bound "textbook".
 * Limits: threads tile + w - 1 inputs must fit into shared memory (227 KiB hold 64 x 48 doubles for w <= 25985, padded for w <= 25392).
 * Origin: kernel C of the "Numba CUDA + cuDF" tutorial, improved; its bank conflicts. */
#include "_padded.cuh"

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block", PARAM_INT, "64", 1, 1024, NULL},
    {"tile", "consecutive outputs of a thread", PARAM_INT, "48", 1, 64, NULL},
    {"padded", "1: staged inputs in rows of odd stride, without bank conflicts; 0: one after the other", PARAM_INT, "0", 0, 1,
     NULL},
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

/* padded=1: the same over rows of odd stride. */
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

static bool is_padded(const VariantArgs *args) {
    return params_int(args->tunables, "padded") != 0;
}

static size_t shared_bytes(const VariantArgs *args, size_t window) {
    if (!is_padded(args)) return rolling_tile_bytes(args, window);
    return padded_elements(rolling_tile_outputs(args) + window - 1, tunable_tile(args)) * dtype_size(args->problem->dtype);
}

static Status run(const VariantArgs *args) {
    return rolling_run(args, [args]<typename T, Aggregate AGG>(const RollingView<T> &view) {
        const dim3 blocks((unsigned)divide_up(view.n, rolling_tile_outputs(args))), threads(tunable_threads(args));
        return launch(is_padded(args) ? padded_kernel<T, AGG> : sums_kernel<T, AGG>,
                      {blocks, threads, shared_bytes(args, view.window), args->stream}, view, tunable_tile(args));
    });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return rolling_tile_supports(args, shared_bytes, reason);
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
