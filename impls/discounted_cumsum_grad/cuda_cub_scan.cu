/* Idea: one cub::DeviceScan for the sums and one for dx, the other way (see discounted_cumsum's cuda_cub_scan). Then the products
 * of dx and the sums, and their sum for each discount.
 * Traffic: 4 reads and 2 writes of n, and CUB's look-back.
 * Rounding: trees whose shape CUB chooses, by the time when blocks finish: the last bits may differ from run to run. Products and
 *   their sums in double.
 * Limits: no sums of k terms; 2^31 - 1 blocks for the sums of the products.
 * Origin: Merrill and Garland 2016 (decoupled look-back), in CUB; Blelloch 1990 for the operator. */
#include "common/discounted_cumsum/cub.cuh"
#include "common/discounted_cumsum/gradient.cuh"

static size_t cub_bytes(const VariantArgs *args) {
    return args->problem->dtype == DTYPE_F64 ? cub_scratch_bytes<double>(args) : cub_scratch_bytes<float>(args);
}

/* The rest: CUB's own. */
static size_t scratch_bytes(const VariantArgs *args) {
    return gradient_scratch_bytes(args, cub_bytes(args));
}

namespace { /* every variant has its own Kernels */
template <typename T, bool RIGHT> struct Kernels {
    static Status launch_on(const VariantArgs *args, const DiscountView<T> &view) {
        const GradientScratch<T> scratch = gradient_scratch<T>(args);
        size_t bytes = args->scratch_bytes - gradient_scratch_bytes(args, 0);
        TRY_CUDA(cub_scan(gradient_sums_view(args, scratch.sums), RIGHT, false, scratch.rest, &bytes, args->stream));
        TRY_CUDA(cub_scan(gradient_adjoint_view<T>(args), !RIGHT, true, scratch.rest, &bytes, args->stream));
        return gradient_finish(args, view, (const T *)scratch.sums, scratch.partials);
    }
};
} // namespace

static Status run(const VariantArgs *args) {
    return gradient_dispatch<Kernels>(args);
}

RUNGS_VARIANT(discounted_cumsum_grad, cuda_cub_scan) = {
    .backend = BACKEND_CUDA,
    .summary = "cub::DeviceScan both ways, then products and their sums",
    .origin = "CUB; Blelloch 1990",
    .supports = gradient_supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
