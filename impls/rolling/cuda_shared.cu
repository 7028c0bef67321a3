/* Idea: a block stages the threads + w - 1 inputs of its windows in shared memory; every thread then reads its window there.
 * Traffic: (threads + w - 1) / threads global reads per output, w shared reads (2w for var and std), n writes.
 * Rounding: as cuda_naive.
 * Limits: threads + w - 1 inputs must fit into shared memory. Of its two barriers the first is the source's and is not needed.
 *   Deviations from the source: it never reads outside the array; shared memory is dynamic, for any w; float32 stays float32;
 *   the source has the mean alone.
 * Origin: "Numba CUDA + cuDF" tutorial, kernel B (shared memory). */
#include "_shared.cuh"

#include <stdio.h>

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block", PARAM_INT, "128", 1, 1024, NULL},
    {"rolled", "1: one element a loop step; 0: the compiler unrolls", PARAM_INT, "0", 0, 1, NULL},
    {},
};

/* ROLLED: as in cuda_naive. */
template <typename T, Aggregate AGG, bool ROLLED>
static __global__ void __launch_bounds__(1024) shared_kernel(RollingView<T> view) {
    DYN_SHARED(T, staged);
    const size_t first = (size_t)blockIdx.x * blockDim.x, i = first + threadIdx.x, w = view.window;
    if (i < view.n) staged[w - 1 + threadIdx.x] = view.x[i]; /* the block's own inputs */
    __syncthreads();
    for (size_t k = threadIdx.x; k < w - 1; k += blockDim.x) /* and the w - 1 before them */
        if (first + k >= w - 1) staged[k] = view.x[first + k - (w - 1)];
    __syncthreads();
    if (i >= view.n) return;
    T output = view.incomplete;
    if (i + 1 >= w) {
        const T *newest = staged + (w - 1) + threadIdx.x;
        Accumulator<T, AGG> all;
        if constexpr (aggregate_is_spread(AGG)) {
            all = Accumulator<T, AGG>::collect(staged + threadIdx.x, w);
        } else if constexpr (ROLLED) {
#pragma unroll 1
            for (size_t j = 0; j < w; j++) all.push(*newest--);
        } else {
            for (size_t j = 0; j < w; j++) all.push(*newest--);
        }
        output = all.template finish<AGG>((T)w);
    }
    view.y[i] = output;
}

static size_t shared_bytes(const VariantArgs *args, size_t window) {
    return (tunable_threads(args) + window - 1) * dtype_size(args->problem->dtype);
}

static Status run(const VariantArgs *args) {
    return rolling_run(args, [args]<typename T, Aggregate AGG>(const RollingView<T> &view) {
        const dim3 blocks((unsigned)divide_up(view.n, tunable_threads(args))), threads(tunable_threads(args));
        const LaunchShape shape = {blocks, threads, shared_bytes(args, view.window), args->stream};
        if constexpr (!aggregate_is_spread(AGG))
            if (params_int(args->tunables, "rolled")) return launch(shared_kernel<T, AGG, true>, shape, view);
        return launch(shared_kernel<T, AGG, false>, shape, view);
    });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const int agg = rolling_aggregate(args);
    if (params_int(args->tunables, "rolled") && agg >= 0 && aggregate_is_spread((Aggregate)agg))
        return variant_refuse(reason, "rolled=1 is for mean, sum, min and max: var and std take two passes");
    char shape[32];
    snprintf(shape, sizeof shape, "%u threads", tunable_threads(args));
    return rolling_supports(args, tunable_threads(args), reason) && rolling_fits_shared(args, shared_bytes, shape, reason);
}

RUNGS_VARIANT(rolling, cuda_shared) = {
    .backend = BACKEND_CUDA,
    .summary = "a block stages its inputs, w reads from shared memory",
    .origin = "Numba CUDA + cuDF tutorial, kernel B",
    .tunables = TUNABLES,
    .supports = supports,
    .run = run,
};
