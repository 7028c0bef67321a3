/* Idea: one read. A thread takes the first value of its part of a column as provisional mean and adds powers of the distances from
 * it, which needs no division and no chain; the part's sums become central moments once, at its end, and parts are merged by
 * Pebay's formulas as trees (moments/columns.cuh has the grid, moments/central.cuh the formulas).
 * Traffic: 1 read of the matrix; partial results beside it, 1% and less of a tall matrix.
 * Rounding: in double by default. A part keeps its mean as a distance from its first value, so a mean far from zero costs nothing; a
 *   conversion loses about (rows of a part) u. An outlier as first value costs its own part only, whose moments it makes anyway.
 *   accumulate=data wants short parts: rows=256.
 * Limits: none.
 * Origin: shifted sums by Chan, Golub and LeVeque 1983; merging by Pebay 2008. */
#include "common/moments/one_read.cuh"

static const ParamSpec TUNABLES[] = {
    ACCUMULATE_TUNABLE("f64"),
    {"rows", "most rows of a thread's part; 0: as many as make one wave of blocks", PARAM_INT, "0", 0, 1e6, NULL},
    SLAB_TUNABLE,
    CHUNKS_TUNABLE,
    {},
};

template <typename T> static MomentsPlan plan_of(const VariantArgs *args) {
    return plan_make(args, Pack<T>::SIZE, 2, (size_t)params_int(args->tunables, "slab"),
                     (size_t)params_int(args->tunables, "chunks"), (size_t)params_int(args->tunables, "rows"));
}

namespace { /* every variant has its own Kernels */
template <typename T, typename A, int ORDER, bool WEIGHTED> struct Kernels {
    using Pass = ShiftedPass<T, A, ORDER, WEIGHTED>;
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

RUNGS_VARIANT(moments, cuda_one_read_blocked) = {
    .backend = BACKEND_CUDA,
    .summary = "one read: shifted power sums of blocks, corrected and merged",
    .origin = "Chan, Golub, LeVeque 1983; Pebay 2008",
    .tunables = TUNABLES,
    .scratch_bytes = scratch_bytes,
    .run = run,
    .configuration = configuration,
};
