/* Idea: one read. Every thread updates mean and central moments with one value at a time; threads, blocks and chunks are merged by
 * Pebay's formulas, as torch does for the variance (moments/columns.cuh has the grid, moments/central.cuh the formulas).
 * Traffic: 1 read of the matrix; partial results beside it, 1% and less of a tall matrix.
 * Rounding: the mean of a thread's part is rounded at each value, so the error grows with |mean| / std, slowly: in double by default.
 * Limits: none. About 20 dependent operations per value and one division per line: double arithmetic, not memory, sets the pace.
 * Origin: Welford 1962; higher moments by Terriberry 2007, merging by Pebay 2008. */
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
    using Pass = WelfordPass<T, A, ORDER, WEIGHTED>;
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

RUNGS_VARIANT(moments, cuda_welford) = {
    .backend = BACKEND_CUDA,
    .summary = "one value at a time, merged thread, block, grid",
    .origin = "Welford 1962; Terriberry 2007; Pebay 2008",
    .tunables = TUNABLES,
    .bound = "updating",
    .scratch_bytes = scratch_bytes,
    .run = run,
    .configuration = configuration,
};
