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

static MomentsPlan plan_of(const VariantArgs *args, size_t pack) {
    return plan_make(args, pack, 2, (size_t)params_int(args->tunables, "slab"), (size_t)params_int(args->tunables, "chunks"), 0);
}

template <typename T, typename A, int ORDER, bool WEIGHTED> using Method = OnePass<WelfordPass<T, A, ORDER, WEIGHTED>>;
using Grid = GridVariant<Method, plan_of>;

RUNGS_VARIANT(moments, cuda_welford) = {
    .backend = BACKEND_CUDA,
    .summary = "one value at a time, merged thread, block, grid",
    .origin = "Welford 1962; Terriberry 2007; Pebay 2008",
    .tunables = TUNABLES,
    .bound = "updating",
    .scratch_bytes = Grid::scratch_bytes,
    .run = Grid::run,
    .configuration = Grid::configuration,
};
