/* Idea: one read. A thread takes the first value of its part of a column (for orders 5 and 6 the mean of the first eight) as
 * provisional mean and adds powers of the distances from it, which needs no division and no chain; the part's sums become central
 * moments once, at its end, and parts are merged by Pebay's formulas as trees (moments/columns.cuh has the grid,
 * moments/central.cuh the formulas).
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

static MomentsPlan plan_of(const VariantArgs *args, size_t pack) {
    return plan_make(args, pack, 2, (size_t)params_int(args->tunables, "slab"), (size_t)params_int(args->tunables, "chunks"),
                     (size_t)params_int(args->tunables, "rows"));
}

template <typename T, typename A, int ORDER, bool WEIGHTED> using Method = OnePass<ShiftedPass<T, A, ORDER, WEIGHTED>>;
using Grid = GridVariant<Method, plan_of>;

RUNGS_VARIANT(moments, cuda_one_read_blocked) = {
    .backend = BACKEND_CUDA,
    .summary = "one read: shifted power sums of blocks, corrected and merged",
    .origin = "Chan, Golub, LeVeque 1983; Pebay 2008",
    .tunables = TUNABLES,
    .scratch_bytes = Grid::scratch_bytes,
    .run = Grid::run,
    .configuration = Grid::configuration,
};
