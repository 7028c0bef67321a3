/* Idea: the fused stages both ways (see discounted_cumsum's cuda_log_stage_fused): the sums of x, and those of dy the other way,
 * which are dx. Then the products of dx and the sums, and their sum for each discount.
 * Traffic: twice a copy and log2(n / 2048) times half of the array read and written, then two reads; with factors twice that.
 * Rounding: trees of depth log2(n), and those of the powers, of the same depth; products and their sums in double.
 * Limits: no sums of k terms; 2^31 - 1 blocks.
 * Origin: cuda_log_stage. */
#include "common/discounted_cumsum/gradient.cuh"
#include "common/discounted_cumsum/stage_tile.cuh"

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return gradient_supports(args, reason) && stage_tile_supports(args, reason);
}

/* The rest: factors. */
static size_t scratch_bytes(const VariantArgs *args) {
    return gradient_scratch_bytes(args, stage_tile_stores_factors(args) ? gradient_array_bytes(args) : 0);
}

namespace { /* every variant has its own Kernels */
template <typename T, bool RIGHT> struct Kernels {
    static Status launch_on(const VariantArgs *args, const DiscountView<T> &view) {
        const GradientScratch<T> scratch = gradient_scratch<T>(args);
        TRY((stage_tile_scan<T, RIGHT, RIGHT>(args, gradient_sums_view(args, scratch.sums), (T *)scratch.rest)));
        TRY((stage_tile_scan<T, RIGHT, !RIGHT>(args, gradient_adjoint_view<T>(args), (T *)scratch.rest)));
        return gradient_finish(args, view, (const T *)scratch.sums, scratch.partials);
    }
};
} // namespace

static Status run(const VariantArgs *args) {
    return gradient_dispatch<Kernels>(args);
}

RUNGS_VARIANT(discounted_cumsum_grad, cuda_log_stage_fused) = {
    .backend = BACKEND_CUDA,
    .summary = "log-stage with the first eleven stages in shared memory, both ways, then products and their sums",
    .origin = "torch-discounted-cumsum 1.1.0; stages fused",
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
