/* Idea: cuda_naive with Python's indices: each one may be negative and then counts from the end of the array, so every read is
 * preceded by a comparison and a select, as Numba compiles x[i - j]. This is most of the reason why Numba's naive kernel is slower
 * than the same loop in C.
 * Traffic: as cuda_naive.
 * Rounding: as cuda_naive.
 * Limits: mean, sum, min and max (one pass); time, O(n w).
 * Origin: "Numba CUDA + cuDF" tutorial, kernel A, as Numba translates it. */
#include "_shared.cuh"

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block", PARAM_INT, "128", 1, 1024, NULL},
    {},
};

template <typename T, Aggregate AGG> static __global__ void __launch_bounds__(1024) wraparound_kernel(RollingView<T> view) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x, n = (long long)view.n, w = (long long)view.window;
    if (i >= n) return;
    if (i + 1 < w) {
        view.y[i] = view.incomplete;
        return;
    }
    Accumulator<T, AGG> all;
#pragma unroll 1 /* unrolled, the compiler would prove the index non-negative for three of four */
    for (long long j = 0; j < w; j++) {
        const long long k = i - j;
        all.push(view.x[k < 0 ? k + n : k]);
    }
    view.y[i] = all.template finish<AGG>((T)w);
}

template <typename T, Aggregate AGG> static Status launch_wraparound(const VariantArgs *args, RollingView<T> view) {
    const dim3 blocks((unsigned)divide_up(view.n, tunable_threads(args)));
    return launch(wraparound_kernel<T, AGG>, {blocks, dim3(tunable_threads(args)), 0, args->stream}, view);
}

static Status run(const VariantArgs *args) {
    return rolling_run(args, [args]<typename T, Aggregate AGG>(const RollingView<T> &view) {
        if constexpr (!aggregate_is_spread(AGG))
            return launch_wraparound<T, AGG>(args, view);
        else
            return status_fail(STATUS_UNSUPPORTED, "supports() refuses this aggregate");
    });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const int agg = rolling_aggregate(args);
    if (agg >= 0 && aggregate_is_spread((Aggregate)agg))
        return variant_refuse(reason, "agg=%s takes two passes: this variant is for mean, sum, min and max",
                              params_text(&args->problem->params, "agg"));
    return rolling_supports(args, tunable_threads(args), reason);
}

RUNGS_VARIANT(rolling, cuda_naive_wraparound) = {
    .backend = BACKEND_CUDA,
    .summary = "cuda_naive with Python's negative indices, as Numba compiles it",
    .origin = "Numba CUDA + cuDF tutorial, kernel A, as Numba translates it",
    .tunables = TUNABLES,
    .supports = supports,
    .run = run,
};
