/* Idea: cuda_two_pass_grid with sums as trees all the way: a thread adds no more than `leaf` rows, its block's threads make a tree,
 * so do the blocks: 8 results per thread and a tree, again and again. So float32 sums are nearly as good as double ones.
 * Traffic: as cuda_two_pass_grid, and one partial result per `leaf` ty rows and column, written and read once.
 * Rounding: chains of `leaf` additions, then about log2(rows / leaf) more: in the precision of the data by default.
 * Limits: none.
 * Origin: the source's README, which discusses the tree and leaves it out; pairwise sums by Higham 1993. */
#include "common/moments/two_pass.cuh"

static const ParamSpec TUNABLES[] = {
    ACCUMULATE_TUNABLE("data"),
    {"leaf", "rows that a thread adds in turn", PARAM_INT, "32", 1, 65536, NULL},
    SLAB_TUNABLE,
    {},
};

template <typename T> static MomentsPlan plan_of(const VariantArgs *args) {
    return plan_make(args, Pack<T>::SIZE, 2, (size_t)params_int(args->tunables, "slab"), 0,
                     (size_t)params_int(args->tunables, "leaf"));
}

namespace { /* every variant has its own Kernels */
template <typename T, typename A, int ORDER, bool WEIGHTED> struct Kernels {
    using Method = TwoPass<T, A, ORDER, WEIGHTED>;
    static size_t scratch_bytes(const VariantArgs *args) { return Method::scratch_bytes(plan_of<T>(args), moments_cols(args)); }
    static Status launch_on(const VariantArgs *args) { return Method::launch_on(args, plan_of<T>(args)); }
    static Status configuration(const VariantArgs *args, LaunchNotes *out) {
        return pass_notes<typename Method::Deviations>(plan_of<T>(args), out);
    }
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

RUNGS_VARIANT(moments, cuda_two_pass_pairwise) = {
    .backend = BACKEND_CUDA,
    .summary = "corrected two-pass, sums as trees of short chains",
    .origin = "Higham 1993; the tree that the source leaves out",
    .tunables = TUNABLES,
    .scratch_bytes = scratch_bytes,
    .run = run,
    .configuration = configuration,
};
