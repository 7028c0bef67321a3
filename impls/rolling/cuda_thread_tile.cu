/* Idea: 64 threads x 48 consecutive outputs. A thread sums the w inputs of its first window; each further output adds the
 * element that enters and drops the one that leaves. The published program keeps the mean, not the sum: s += (new - old) / w, so a
 * division lies on the chain from one output to the next. var from the running means of x and x^2; min and max read every window
 * again.
 * Traffic: (threads tile + w - 1) / (threads tile) global reads per output, w / tile + 2 shared reads (w for min and max). The
 *   lanes of a warp lie one tile apart: with an even tile their shared reads conflict in the banks, and their writes to y are not
 *   coalesced (8 bytes of each 32-byte sector per store). The block waits after each of the `tile` steps that stage its own inputs,
 *   as published; one wait would do.
 * Rounding: an update keeps the error of everything that passed through the tile, and inf or NaN until its end; the quotients are
 *   rounded, so that means of integers are not exact. E[x^2] - E[x]^2 cancels where the mean is large beside the spread. Hence the
 *   bound "textbook".
 * Limits: threads tile + w - 1 inputs must fit into shared memory (227 KiB hold 64 x 48 doubles for w <= 25985). Deviations from
 *   the source. Forced by the definition: it never reads outside the array, var of a window of one is NaN, and min and max of a
 *   window with a NaN are NaN. Not forced: float32 stays float32 (the source stages float64 always), and shared memory may exceed
 *   48 KiB, where the source ends at w = 3073.
 * Origin: "Numba CUDA + cuDF" tutorial, kernel C (tile); generalised by its sequel, "Adding the rolling and ewm functions to
 *   cuDF". */
#include "_shared.cuh"

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block", PARAM_INT, "64", 1, 1024, NULL},
    {"tile", "consecutive outputs of a thread", PARAM_INT, "48", 1, 64, NULL},
    {},
};

/* staged[w - 1 + k] = x[first + k] for the block's own inputs, then the w - 1 before them. What lies outside the array is neither
 * read nor set. */
template <typename T> __device__ void stage_as_published(const RollingView<T> &view, size_t first, unsigned tile, T *staged) {
    const size_t history = view.window - 1;
    for (unsigned j = 0; j < tile; j++) {
        const size_t k = threadIdx.x + (size_t)j * blockDim.x;
        if (first + k < view.n) staged[history + k] = view.x[first + k];
        __syncthreads();
    }
    for (size_t k = threadIdx.x; k < history; k += blockDim.x)
        if (first + k >= history) staged[k] = view.x[first + k - history];
    __syncthreads();
}

template <typename T, Aggregate AGG>
static __global__ void __launch_bounds__(1024) tile_kernel(RollingView<T> view, unsigned tile) {
    DYN_SHARED(T, staged);
    const size_t w = view.window, block_first = (size_t)blockIdx.x * blockDim.x * tile;
    stage_as_published(view, block_first, tile, staged);

    const size_t begin = (size_t)threadIdx.x * tile, first = block_first + begin; /* this thread's outputs: first + k, k < tile */
    unsigned k = 0;
    for (; k < tile && first + k < view.n && first + k + 1 < w; k++) view.y[first + k] = view.incomplete;
    if (k == tile || first + k >= view.n) return;

    if constexpr (aggregate_is_extreme(AGG)) {
        for (; k < tile && first + k < view.n; k++) {
            Accumulator<T, AGG> all;
            for (size_t j = 0; j < w; j++) all.push(staged[begin + k + (w - 1 - j)]);
            view.y[first + k] = all.value;
        }
    } else {
        const T width = (T)w;
        const T *newest = staged + (w - 1) + begin + k; /* the window of output first + k ends here */
        T s = 0, squares = 0;                           /* the window's mean (agg=sum: its sum) and mean of squares */
        for (size_t j = 0; j < w; j++) {
            const T x = *(newest - j);
            s += x;
            if (aggregate_is_spread(AGG)) squares += x * x;
        }
        if (AGG != AGG_SUM) s /= width;
        if (aggregate_is_spread(AGG)) squares /= width;
        for (;;) {
            T output = s;
            if (aggregate_is_spread(AGG)) {
                const T variance = w == 1 ? (T)__builtin_nan("") : (squares - s * s) * width / (width - 1);
                output = AGG == AGG_VAR ? variance : sqrt(variance);
            }
            view.y[first + k] = output;
            if (++k == tile || first + k >= view.n) return;
            newest++;
            const T entering = *newest, leaving = *(newest - w);
            if (AGG == AGG_SUM) {
                s += entering;
                s -= leaving;
            } else {
                s += (entering - leaving) / width;
            }
            if (aggregate_is_spread(AGG)) squares += (entering * entering - leaving * leaving) / width;
        }
    }
}

static Status run(const VariantArgs *args) {
    return rolling_run(args, [args]<typename T, Aggregate AGG>(const RollingView<T> &view) {
        const dim3 blocks((unsigned)divide_up(view.n, rolling_tile_outputs(args))), threads(tunable_threads(args));
        return launch(tile_kernel<T, AGG>, {blocks, threads, rolling_tile_bytes(args, view.window), args->stream}, view,
                      tunable_tile(args));
    });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return rolling_tile_supports(args, rolling_tile_bytes, reason);
}

RUNGS_VARIANT(rolling, cuda_thread_tile) = {
    .backend = BACKEND_CUDA,
    .summary = "a thread updates tile outputs, as published: s += (new - old) / w; var as E[x^2]-E[x]^2",
    .origin = "Numba CUDA + cuDF tutorial, kernel C",
    .tunables = TUNABLES,
    .bound = "textbook",
    .supports = supports,
    .run = run,
};
