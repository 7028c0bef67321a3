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

static MomentsPlan plan_of(const VariantArgs *args, size_t pack) {
    return plan_make(args, pack, 2, (size_t)params_int(args->tunables, "slab"), 0, (size_t)params_int(args->tunables, "leaf"));
}

using Grid = GridVariant<TwoPass, plan_of>;

RUNGS_VARIANT(moments, cuda_two_pass_pairwise) = {
    .backend = BACKEND_CUDA,
    .summary = "corrected two-pass, sums as trees of short chains",
    .origin = "Higham 1993; the tree that the source leaves out",
    .tunables = TUNABLES,
    .scratch_bytes = Grid::scratch_bytes,
    .run = Grid::run,
    .configuration = Grid::configuration,
};
