/* Idea: one thread per output reads its whole window from global memory; var and std read it twice (mean, then squares about it).
 * Traffic: w global reads per output (2w for var and std), nearly all served by L1 and L2; n writes.
 * Rounding: sums in order, error at most w u sum|x|; var by two corrected passes.
 * Limits: none but time, O(n w).
 * Origin: "Numba CUDA + cuDF" tutorial, kernel A (moving average, naive). */
#include "common/rolling/accumulators.cuh"
#include "common/rolling/rows.cuh"

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block", PARAM_INT, "128", 1, 1024, NULL},
    ROLLED_TUNABLE,
    {},
};

template <typename T, Aggregate AGG, bool ROLLED> static __global__ void __launch_bounds__(1024) naive_kernel(RollingView<T> view) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, w = view.window;
    if (i >= view.n) return;
    if (i + 1 < w) {
        view.y[i] = view.incomplete;
        return;
    }
    const FlatCursor<T> begin = {view.x + (i + 1 - w)};
    view.y[i] = collect_window<Accumulator<T, AGG>, ROLLED>(begin, w).template finish<AGG>((T)w);
}

static unsigned threads_of(const VariantArgs *args) {
    return (unsigned)params_int(args->tunables, "threads");
}

namespace { /* every variant has its own Kernels */
template <typename T, Aggregate AGG> struct Kernels {
    static Status launch_on(const VariantArgs *args, RollingView<T> view) {
        const unsigned blocks = (unsigned)divide_up(view.n, threads_of(args));
        const bool rolled = params_int(args->tunables, "rolled") && !aggregate_is_spread(AGG);
        return launch(rolled ? naive_kernel<T, AGG, !aggregate_is_spread(AGG)> : naive_kernel<T, AGG, false>,
                      {dim3(blocks), dim3(threads_of(args)), 0, args->stream}, view);
    }
};
} // namespace

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return rolled_supports(args, reason) && rolling_supports(args, threads_of(args), reason);
}

static Status run(const VariantArgs *args) {
    return rolling_dispatch<Kernels>(args);
}

RUNGS_VARIANT(rolling, cuda_naive) = {
    .backend = BACKEND_CUDA,
    .summary = "one thread per output, w reads from global memory",
    .origin = "Numba CUDA + cuDF tutorial, kernel A",
    .tunables = TUNABLES,
    .supports = supports,
    .run = run,
};
