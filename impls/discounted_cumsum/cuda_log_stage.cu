/* Idea: the published algorithm: ceil(log2 n) launches over y, in place. Stage s joins groups of h = 2^s elements two by two; each
 * of n/2 threads adds to one element of the group that takes the first (right) or last (left) element of the other, times
 * gamma^distance by pow(). Factors of each element and masks: products of factors in an array of their own, doubled along. Sums of
 * k terms: maps of 2^s elements, doubled; those that the bits of k ask for are composed.
 * Traffic: a copy, then log2(n) times half of y read and written; with factors twice that.
 * Rounding: a tree of depth log2(n), and the error of pow().
 * Limits: what follows a sum that passed the range may come back. Where gamma^distance underflows to 0, inf becomes NaN; where it
 *   overflows (|gamma| > 1), 0 does. Sums of k terms: the powers that join groups are within the range of the dtype. The published
 *   code counts stages with a float log2 and loses one from n = 2097153 on; here they are counted in integers, and rows are not
 *   limited to 65535.
 * Origin: torch-discounted-cumsum 1.1.0. */
#include "common/discounted_cumsum/stage.cuh"

enum { THREADS = 64 };

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return stage_supports(args, THREADS, reason);
}

namespace { /* every variant has its own Kernels */
template <typename T, bool RIGHT> struct Kernels {
    static Status launch_on(const VariantArgs *args, const DiscountView<T> &view) {
        const size_t terms = discount_terms(args);
        if (terms > 0) return stage_window<T, RIGHT>(view, terms, args->scratch, args->stream);
        TRY_CUDA(
            cudaMemcpyAsync(view.y, view.x, view.batch * view.n * sizeof(T), cudaMemcpyDeviceToDevice, (cudaStream_t)args->stream));
        if (discount_is_uniform(args)) return stage_launches<T, RIGHT, STAGE_POW>(view, nullptr, 0, THREADS, args->stream);
        T *factors = (T *)args->scratch;
        TRY(stage_factors(view, RIGHT, RIGHT, factors, args->stream));
        return stage_launches<T, RIGHT, STAGE_PRODUCTS>(view, factors, 0, THREADS, args->stream);
    }
};
} // namespace

static Status run(const VariantArgs *args) {
    return discount_dispatch<Kernels>(args);
}

RUNGS_VARIANT(discounted_cumsum, cuda_log_stage) = {
    .backend = BACKEND_CUDA,
    .summary = "the published kernel: log2(n) launches, in place, powers by pow()",
    .origin = "torch-discounted-cumsum 1.1.0",
    .supports = supports,
    .scratch_bytes = stage_scratch_bytes,
    .run = run,
};
