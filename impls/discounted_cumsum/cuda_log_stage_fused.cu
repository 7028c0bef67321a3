/* Idea: the stages of cuda_log_stage, the first eleven in one launch: a block has 2048 elements in shared memory and joins their
 * groups there; only groups of 2048 and more are joined in launches of their own. Powers come from a table that doubles with the
 * groups (gamma^(h+j) = gamma^h gamma^j), and by squaring later on.
 * Traffic: 1 read and 1 write of n, then log2(n / 2048) times half of y read and written; with factors twice that.
 * Rounding: a tree of depth log2(n), and that of the powers, of the same depth.
 * Limits: none on n; 2^31 - 1 blocks. Sums of k terms, and sums after one that passed the range: as cuda_log_stage.
 * Origin: cuda_log_stage. */
#include "common/discounted_cumsum/stage_tile.cuh"

static size_t scratch_bytes(const VariantArgs *args) {
    return discount_terms(args) > 0 || stage_tile_stores_factors(args) ? stage_scratch_bytes(args) : 0;
}

namespace { /* every variant has its own Kernels */
template <typename T, bool RIGHT> struct Kernels {
    static Status launch_on(const VariantArgs *args, const DiscountView<T> &view) {
        const size_t terms = discount_terms(args);
        if (terms > 0) return stage_window<T, RIGHT>(view, terms, args->scratch, args->stream);
        return stage_tile_scan<T, RIGHT, RIGHT>(args, view, (T *)args->scratch);
    }
};
} // namespace

static Status run(const VariantArgs *args) {
    return discount_dispatch<Kernels>(args);
}

RUNGS_VARIANT(discounted_cumsum, cuda_log_stage_fused) = {
    .backend = BACKEND_CUDA,
    .summary = "log-stage with the first eleven stages in shared memory, powers by squaring",
    .origin = "torch-discounted-cumsum 1.1.0; stages fused",
    .supports = stage_tile_supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
