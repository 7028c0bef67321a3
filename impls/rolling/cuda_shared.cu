/* Idea: a block stages the threads + w - 1 inputs of its windows in shared memory; every thread then reads its window there.
 * Traffic: (threads + w - 1) / threads global reads per output, w shared reads (2w for var and std), n writes.
 * Rounding: as cuda_naive.
 * Limits: threads + w - 1 inputs must fit into shared memory. Unlike the published kernel it never reads outside the array.
 * Origin: "Numba CUDA + cuDF" tutorial, kernel B (shared memory). */
#include "common/rolling/accumulators.cuh"
#include "common/rolling/rows.cuh"
#include "common/rolling/stage.cuh"

#include <stdio.h>

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block", PARAM_INT, "128", 1, 1024, NULL},
    ROLLED_TUNABLE,
    {},
};

template <typename T, Aggregate AGG, bool ROLLED>
static __global__ void __launch_bounds__(1024) shared_kernel(RollingView<T> view) {
    DYN_SHARED(T, memory);
    FlatRows<T> rows(memory, 1);
    const size_t first = (size_t)blockIdx.x * blockDim.x, i = first + threadIdx.x, w = view.window;
    rolling_stage(view, first, blockDim.x, rows);
    if (i >= view.n) return;
    view.y[i] = i + 1 < w ? view.incomplete
                          : collect_window<Accumulator<T, AGG>, ROLLED>(rows.from(threadIdx.x), w).template finish<AGG>((T)w);
}

static unsigned threads_of(const VariantArgs *args) {
    return (unsigned)params_int(args->tunables, "threads");
}

static size_t shared_bytes(const VariantArgs *args, size_t window) {
    return (threads_of(args) + window - 1) * dtype_size(args->problem->dtype);
}

namespace { /* every variant has its own Kernels */
template <typename T, Aggregate AGG> struct Kernels {
    static Status launch_on(const VariantArgs *args, RollingView<T> view) {
        const unsigned blocks = (unsigned)divide_up(view.n, threads_of(args));
        const bool rolled = params_int(args->tunables, "rolled") && !aggregate_is_spread(AGG);
        return launch(rolled ? shared_kernel<T, AGG, !aggregate_is_spread(AGG)> : shared_kernel<T, AGG, false>,
                      {dim3(blocks), dim3(threads_of(args)), shared_bytes(args, view.window), args->stream}, view);
    }
};
} // namespace

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    char shape[32];
    snprintf(shape, sizeof shape, "%u threads", threads_of(args));
    return rolled_supports(args, reason) && rolling_supports(args, threads_of(args), reason) &&
           rolling_fits_shared(args, shared_bytes, shape, reason);
}

static Status run(const VariantArgs *args) {
    return rolling_dispatch<Kernels>(args);
}

RUNGS_VARIANT(rolling, cuda_shared) = {
    .backend = BACKEND_CUDA,
    .summary = "a block stages its inputs, w reads from shared memory",
    .origin = "Numba CUDA + cuDF tutorial, kernel B",
    .tunables = TUNABLES,
    .supports = supports,
    .run = run,
};
