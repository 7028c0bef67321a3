/* Idea: the corrected two-pass of cuda_two_pass without its limits and with loads of 16 bytes. Rows are glued into lines of whole
 * 16-byte packs, so that threads read neighbouring memory whatever the number of columns; blocks take slabs of columns x chunks of
 * rows, as many as are on the device at once; then trees in shared memory and a kernel that merges the chunks
 * (moments/columns.cuh). Means, smallest and largest first; then power sums of the deviations, whose first one corrects the others.
 * Traffic: 2 reads of the matrix (the second an L2 hit where it fits); partial results beside it, 1% and less of a tall matrix.
 * Rounding: a thread adds its rows in turn, trees above that. In double by default; with accumulate=data and float32 a thread's
 *   chain has rows / (chunks ty) float additions.
 * Limits: none.
 * Origin: two passes with correction by Chan, Golub and LeVeque 1983; higher moments by Pebay 2008. */
#include "common/moments/two_pass.cuh"

static const ParamSpec TUNABLES[] = {
    ACCUMULATE_TUNABLE("f64"),
    SLAB_TUNABLE,
    CHUNKS_TUNABLE,
    {},
};

static MomentsPlan plan_of(const VariantArgs *args, size_t pack) {
    return plan_make(args, pack, 2, (size_t)params_int(args->tunables, "slab"), (size_t)params_int(args->tunables, "chunks"), 0);
}

using Grid = GridVariant<TwoPass, plan_of>;

RUNGS_VARIANT(moments, cuda_two_pass_grid) = {
    .backend = BACKEND_CUDA,
    .summary = "corrected two-pass, blocks of columns x rows, any shape",
    .origin = "Chan, Golub, LeVeque 1983; Pebay 2008",
    .tunables = TUNABLES,
    .scratch_bytes = Grid::scratch_bytes,
    .run = Grid::run,
    .configuration = Grid::configuration,
};
