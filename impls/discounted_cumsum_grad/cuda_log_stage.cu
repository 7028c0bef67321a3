/* Idea: the published algorithm for both scans (see discounted_cumsum's cuda_log_stage): the sums of x, and those of dy the other
 * way, which are dx. Then the products of dx and the sums, and their sum for each discount.
 * Traffic: twice a copy and log2(n) times half of the array read and written, then two reads; with factors twice that.
 * Rounding: trees of depth log2(n), and the error of pow(); products and their sums in double.
 * Limits: no sums of k terms; where gamma^distance underflows to 0, inf becomes NaN; where it overflows (|gamma| > 1), 0 does.
 * Origin: torch-discounted-cumsum 1.1.0. */
#include "common/discounted_cumsum/gradient.cuh"
#include "common/discounted_cumsum/stage.cuh"

enum { THREADS = 64 };

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return gradient_supports(args, reason) && stage_supports(args, THREADS, reason);
}

/* The rest: factors. */
static size_t scratch_bytes(const VariantArgs *args) {
    return gradient_scratch_bytes(args, discount_is_uniform(args) ? 0 : gradient_array_bytes(args));
}

namespace { /* every variant has its own Kernels */
template <typename T, bool RIGHT> struct Kernels {
    /* view.y is a copy of what the sums are of. */
    template <bool BACKWARD> static Status scan(const VariantArgs *args, const DiscountView<T> &view, T *factors) {
        TRY_CUDA(
            cudaMemcpyAsync(view.y, view.x, view.batch * view.n * sizeof(T), cudaMemcpyDeviceToDevice, (cudaStream_t)args->stream));
        if (discount_is_uniform(args)) return stage_launches<T, BACKWARD, STAGE_POW>(view, factors, 0, THREADS, args->stream);
        TRY(stage_factors(view, RIGHT, BACKWARD, factors, args->stream));
        return stage_launches<T, BACKWARD, STAGE_PRODUCTS>(view, factors, 0, THREADS, args->stream);
    }
    static Status launch_on(const VariantArgs *args, const DiscountView<T> &view) {
        const GradientScratch<T> scratch = gradient_scratch<T>(args);
        TRY(scan<RIGHT>(args, gradient_sums_view(args, scratch.sums), (T *)scratch.rest));
        TRY(scan<!RIGHT>(args, gradient_adjoint_view<T>(args), (T *)scratch.rest));
        return gradient_finish(args, view, (const T *)scratch.sums, scratch.partials);
    }
};
} // namespace

static Status run(const VariantArgs *args) {
    return gradient_dispatch<Kernels>(args);
}

RUNGS_VARIANT(discounted_cumsum_grad, cuda_log_stage) = {
    .backend = BACKEND_CUDA,
    .summary = "the published kernel both ways, then products and their sums",
    .origin = "torch-discounted-cumsum 1.1.0",
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
