/* Idea: one cub::DeviceScan over the elements of all rows, of affine maps: what an element is multiplied by and what it adds. The
 * first of each row is a cut, which drops what was carried to it. To the right the scan goes backwards, from the last element of
 * all.
 * Traffic: 1 read and 1 write of n, and CUB's look-back.
 * Rounding: trees whose shape CUB chooses, by the time when blocks finish: the last bits may differ from run to run. Maps are of the
 *   dtype.
 * Limits: no sums of k terms. What follows a sum that passed the range may come back.
 * Origin: Merrill and Garland 2016 (decoupled look-back), in CUB; Blelloch 1990 for the operator. */
#include "common/discounted_cumsum/cub.cuh"

static size_t scratch_bytes(const VariantArgs *args) {
    return args->problem->dtype == DTYPE_F64 ? cub_scratch_bytes<double>(args) : cub_scratch_bytes<float>(args);
}

namespace { /* every variant has its own Kernels */
template <typename T, bool RIGHT> struct Kernels {
    static Status launch_on(const VariantArgs *args, const DiscountView<T> &view) {
        size_t bytes = args->scratch_bytes;
        TRY_CUDA(cub_scan(view, RIGHT, false, args->scratch, &bytes, args->stream));
        return STATUS_OK;
    }
};
} // namespace

static Status run(const VariantArgs *args) {
    return discount_dispatch<Kernels>(args);
}

RUNGS_VARIANT(discounted_cumsum, cuda_cub_scan) = {
    .backend = BACKEND_CUDA,
    .summary = "cub::DeviceScan of affine maps, all rows in one scan",
    .origin = "CUB; Blelloch 1990",
    .supports = cub_supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
