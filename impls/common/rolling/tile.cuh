/* tile.cuh - the published tile kernel, over flat or padded rows.
 *
 * A thread computes `tile` consecutive outputs. It sums the first window; every further output adds the entering element and drops
 * the leaving one. min and max cannot drop: they scan each window again, as the source does. */
#ifndef RUNGS_ROLLING_TILE_CUH
#define RUNGS_ROLLING_TILE_CUH

#include "common/rolling/accumulators.cuh"
#include "common/rolling/rows.cuh"
#include "common/rolling/stage.cuh"

#include <stdio.h>

/* Sums of x and of x^2: the published rule for var is E[x^2] - E[x]^2, here times w / (w - 1) for the sample's variance. */
template <typename T, Aggregate AGG> struct RunningSums {
    T sum = 0, squares = 0;
    __device__ void enter(T x) {
        sum += x;
        if (aggregate_is_spread(AGG)) squares += x * x;
    }
    __device__ void leave(T x) {
        sum -= x;
        if (aggregate_is_spread(AGG)) squares -= x * x;
    }
    __device__ T finish(T window) const {
        if (AGG == AGG_SUM) return sum;
        const T mean = sum / window;
        if (AGG == AGG_MEAN) return mean;
        if (window == 1) return (T)__builtin_nan("");
        const T variance = (squares / window - mean * mean) * (window / (window - 1));
        return AGG == AGG_VAR ? variance : sqrt(variance);
    }
};

template <typename T, Aggregate AGG, template <typename> class Rows>
static __global__ void __launch_bounds__(1024) rolling_tile_kernel(RollingView<T> view, unsigned tile) {
    DYN_SHARED(T, memory);
    Rows<T> rows(memory, tile);
    const size_t block_first = (size_t)blockIdx.x * blockDim.x * tile;
    rolling_stage(view, block_first, blockDim.x * tile, rows);

    const unsigned begin = threadIdx.x * tile; /* where the first output's window begins in rows */
    const size_t first = block_first + begin, w = view.window;
    unsigned k = 0;
    for (; k < tile && first + k < view.n && first + k + 1 < w; k++) view.y[first + k] = view.incomplete;
    if (k == tile || first + k >= view.n) return;

    if constexpr (aggregate_is_extreme(AGG)) {
        for (; k < tile && first + k < view.n; k++)
            view.y[first + k] = Accumulator<T, AGG>::collect(rows.from(begin + k), w).template finish<AGG>((T)w);
    } else {
        auto entering = rows.from(begin + k), leaving = entering;
        RunningSums<T, AGG> sums;
        for (size_t m = 0; m < w; m++) sums.enter(entering.next());
        view.y[first + k] = sums.finish((T)w);
        for (k++; k < tile && first + k < view.n; k++) {
            sums.enter(entering.next());
            sums.leave(leaving.next());
            view.y[first + k] = sums.finish((T)w);
        }
    }
}

/* The tile kernels' tunables and what follows from them. */
static inline unsigned tile_threads(const VariantArgs *args) {
    return (unsigned)params_int(args->tunables, "threads");
}
static inline unsigned tile_outputs(const VariantArgs *args) {
    return (unsigned)params_int(args->tunables, "tile");
}

static inline size_t tile_grid(const VariantArgs *args) {
    return divide_up(rolling_length(args), (size_t)tile_threads(args) * tile_outputs(args));
}

/* Bytes of shared memory for the inputs of one block. */
template <template <typename> class Rows> static size_t tile_shared_bytes(const VariantArgs *args, size_t window) {
    const size_t count = (size_t)tile_threads(args) * tile_outputs(args) + window - 1;
    return Rows<char>::elements(count, tile_outputs(args)) * dtype_size(args->problem->dtype);
}

static inline bool tile_supports(const VariantArgs *args, size_t (*bytes)(const VariantArgs *, size_t), char reason[REASON_MAX]) {
    char shape[64];
    snprintf(shape, sizeof shape, "%u threads x %u outputs", tile_threads(args), tile_outputs(args));
    return rolling_supports(args, (size_t)tile_threads(args) * tile_outputs(args), reason) &&
           rolling_fits_shared(args, bytes, shape, reason);
}

template <template <typename> class Rows> struct TileKernels {
    template <typename T, Aggregate AGG> struct For {
        static Status launch_on(const VariantArgs *args, RollingView<T> view) {
            return launch(rolling_tile_kernel<T, AGG, Rows>,
                          {dim3((unsigned)tile_grid(args)), dim3(tile_threads(args)), tile_shared_bytes<Rows>(args, view.window),
                           args->stream},
                          view, tile_outputs(args));
        }
    };
};

#endif
