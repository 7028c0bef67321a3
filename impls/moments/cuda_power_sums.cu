/* Idea: the textbook: sums of x, x^2, x^3, x^4 in one read, central moments from them at the end. On the ladder to be seen failing:
 * the sums are as large as mean^p, what is wanted as std^p.
 * Traffic: 1 read of the matrix; partial results beside it, 1% and less of a tall matrix.
 * Rounding: error about n u (|mean| / std)^p, so nothing is left of a variance at |mean| / std = 1e8 in double (1e4 in float).
 *   A variance may come out negative, and then all that is divided by it is NaN.
 * Limits: none.
 * Origin: textbooks; the source's CPU loops. */
#include "common/moments/one_read.cuh"

static const ParamSpec TUNABLES[] = {
    ACCUMULATE_TUNABLE("f64"),
    SLAB_TUNABLE,
    CHUNKS_TUNABLE,
    {},
};

template <typename T> static MomentsPlan plan_of(const VariantArgs *args) {
    return plan_make(args, Pack<T>::SIZE, 2, (size_t)params_int(args->tunables, "slab"),
                     (size_t)params_int(args->tunables, "chunks"), 0);
}

namespace { /* every variant has its own Kernels */
template <typename T, typename A, int ORDER, bool WEIGHTED> struct Kernels {
    using Pass = RawPass<T, A, ORDER, WEIGHTED>;
    static size_t scratch_bytes(const VariantArgs *args) { return pass_scratch_bytes<Pass>(plan_of<T>(args), moments_cols(args)); }
    static Status launch_on(const VariantArgs *args) {
        return pass_launch<Pass>(args, moments_view<T>(args), plan_of<T>(args), {}, args->scratch);
    }
    static Status configuration(const VariantArgs *args, LaunchNotes *out) { return pass_notes<Pass>(plan_of<T>(args), out); }
};
} // namespace

static size_t scratch_bytes(const VariantArgs *args) {
    return moments_scratch_bytes<Kernels>(args);
}

static Status run(const VariantArgs *args) {
    return moments_run<Kernels>(args);
}

static Status configuration(const VariantArgs *args, LaunchNotes *out) {
    return moments_configuration<Kernels>(args, out);
}

RUNGS_VARIANT(moments, cuda_power_sums) = {
    .backend = BACKEND_CUDA,
    .summary = "raw power sums, unstable by design",
    .origin = "textbook formulas",
    .tunables = TUNABLES,
    .bound = "power_sums",
    .scratch_bytes = scratch_bytes,
    .run = run,
    .configuration = configuration,
};
