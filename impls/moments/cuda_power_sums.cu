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

static MomentsPlan plan_of(const VariantArgs *args, size_t pack) {
    return plan_make(args, pack, 2, (size_t)params_int(args->tunables, "slab"), (size_t)params_int(args->tunables, "chunks"), 0);
}

template <typename T, typename A, int ORDER, bool WEIGHTED> using Method = OnePass<RawPass<T, A, ORDER, WEIGHTED>>;
using Grid = GridVariant<Method, plan_of>;

RUNGS_VARIANT(moments, cuda_power_sums) = {
    .backend = BACKEND_CUDA,
    .summary = "raw power sums, unstable by design",
    .origin = "textbook formulas",
    .tunables = TUNABLES,
    .bound = "power_sums",
    .scratch_bytes = Grid::scratch_bytes,
    .run = Grid::run,
    .configuration = Grid::configuration,
};
