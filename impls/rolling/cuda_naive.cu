/* Idea: one thread per output reads its whole window from global memory; var and std read it twice (mean, then squares about it).
 * Traffic: w global reads per output (2w for var and std), nearly all served by L1 and L2; n writes.
 * Rounding: in the dtype (f16 and bf16: in float); sums from the newest element to the oldest, as published, error at most w u sum|x|; var by two corrected passes.
 * Limits: none but time, O(n w).
 * Origin: "Numba CUDA + cuDF" tutorial, kernel A (moving average, naive); the other aggregates are ours. */
#include "_shared.cuh"

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block", PARAM_INT, "128", 1, 1024, NULL},
    {"rolled", "1: one element a loop step; 0: the compiler unrolls", PARAM_INT, "0", 0, 1, NULL},
    {},
};

/* The compiler unrolls the loop over the window. ROLLED keeps one element a step, to see what that is worth: on an H200 with
 * w = 3000 this kernel is 1.2x faster so, cuda_shared 1.1x slower (measured when both summed from the oldest element). */
template <typename T, Aggregate AGG, bool ROLLED> static __global__ void __launch_bounds__(1024) naive_kernel(RollingView<T> view) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, w = view.window;
    if (i >= view.n) return;
    if (i + 1 < w) {
        view.y[i] = view.incomplete;
        return;
    }
    const T *newest = view.x + i;
    Accumulator<SumOf<T>, AGG> all;
    if constexpr (aggregate_is_spread(AGG)) {
        all = Accumulator<SumOf<T>, AGG>::collect(view.x + (i + 1 - w), w);
    } else if constexpr (ROLLED) {
#pragma unroll 1
        for (size_t j = 0; j < w; j++) all.push(wide(*newest--));
    } else {
        for (size_t j = 0; j < w; j++) all.push(wide(*newest--));
    }
    view.y[i] = (T)all.template finish<AGG>((SumOf<T>)w);
}

static Status run(const VariantArgs *args) {
    return rolling_run_stored(args, [args]<typename T, Aggregate AGG>(const RollingView<T> &view) {
        const dim3 blocks((unsigned)divide_up(view.n, tunable_threads(args))), threads(tunable_threads(args));
        if constexpr (!aggregate_is_spread(AGG))
            if (params_int(args->tunables, "rolled"))
                return launch(naive_kernel<T, AGG, true>, {blocks, threads, 0, args->stream}, view);
        return launch(naive_kernel<T, AGG, false>, {blocks, threads, 0, args->stream}, view);
    });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const int agg = rolling_aggregate(args);
    if (params_int(args->tunables, "rolled") && agg >= 0 && aggregate_is_spread((Aggregate)agg))
        return variant_refuse(reason, "rolled=1 is for mean, sum, min and max: var and std take two passes");
    return rolling_supports(args, tunable_threads(args), reason);
}

RUNGS_VARIANT(rolling, cuda_naive) = {
    .backend = BACKEND_CUDA,
    .summary = "one thread per output, w reads from global memory",
    .origin = "Numba CUDA + cuDF tutorial, kernel A",
    .tunables = TUNABLES,
    .dtypes = STORAGE_TYPES,
    .supports = supports,
    .run = run,
};
