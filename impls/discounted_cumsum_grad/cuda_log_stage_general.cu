/* Idea: the log stages of discounted_cumsum's cuda_log_stage_general, twice: the sums of x, and those of dy the other way, which
 * are dx. Then the products of dx and the sums, and their sum for each gamma. fused=1: the first eleven stages of a scan in one
 * launch.
 * Traffic: twice a copy and log2(n) times half of the array read and written, then two reads; with factors twice that. fused=1: twice 1
 *   read and 1 write of n and log2(n / 2048) times half of the array, then two reads.
 * Rounding: trees of depth log2(n), and the error of pow(), or (fused=1) that of the powers; products and their sums in double.
 * Limits: no sums of k terms; 2^31 - 1 blocks. fused=0: where gamma^distance underflows to 0, inf becomes NaN; where it overflows
 *   (|gamma| > 1), 0 does.
 * Origin: torch-discounted-cumsum 1.1.0, generalised; stages fused; dgamma by the adjoint. */
#include "common/discounted_cumsum/stages.cuh"
#include "discounted_cumsum_grad/_products.cuh"

/* Before the first stage: a group is an element. */
template <typename T> static __global__ void factors_kernel(DiscountView<T> view, bool right, bool backward, T *factors) {
    const size_t flat = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (flat >= view.batch * view.n) return;
    const size_t row = flat / view.n;
    factors[flat] = stage_factor(view, right, backward, row, flat - row * view.n);
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (!gradient_supports(args, reason) || !stage_supports(args, threads_of(args), reason)) return false;
    return !is_fused(args) || discount_fits_grid(args, tiles_of(args) * discount_batch(args), reason);
}

/* The rest: factors. */
static size_t scratch_bytes(const VariantArgs *args) {
    return gradient_scratch_bytes(args, stores_factors(args) ? gradient_array_bytes(args) : 0);
}

template <typename T, bool RIGHT, bool BACKWARD>
static Status scan(const VariantArgs *args, const DiscountView<T> &view, void *rest) {
    T *factors = (T *)rest;
    return run_stages<T, RIGHT, BACKWARD>(
        args, view, factors, [&](LaunchShape flat) { return launch(factors_kernel<T>, flat, view, RIGHT, BACKWARD, factors); });
}

static Status run(const VariantArgs *args) {
    return gradient_run(args, [args]<typename T, bool RIGHT>() {
        const GradientScratch<T> scratch = gradient_scratch<T>(args);
        TRY((scan<T, RIGHT, RIGHT>(args, gradient_sums_view(args, scratch.sums), scratch.rest)));
        TRY((scan<T, RIGHT, !RIGHT>(args, gradient_adjoint_view<T>(args), scratch.rest)));
        return gradient_finish(args, (const T *)scratch.sums, scratch.partials);
    });
}

RUNGS_VARIANT(discounted_cumsum_grad, cuda_log_stage_general) = {
    .backend = BACKEND_CUDA,
    .summary = "log-stage with no idle threads, 64-bit indices and any factors, both ways, then products and their sums",
    .origin = "torch-discounted-cumsum 1.1.0; generalised; stages fused",
    .tunables = TUNABLES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
