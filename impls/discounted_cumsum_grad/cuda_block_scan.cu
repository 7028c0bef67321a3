/* Idea: two scans of affine maps (common/affine_scan.cuh), dealt to blocks as in discounted_cumsum's cuda_block_scan: the sums, of
 * which each element keeps what was carried into it, then the adjoint the other way, which yields dx and on the way multiplies it
 * by what the first has kept: the gradient of that element's discount. Where a line has one discount, blocks add these up; then one
 * block adds up theirs, always in the same order. Short rows that share a line and have a discount each are multiplied and added up
 * by a block each, from both scans' outputs.
 * Traffic: 3 reads and 2 writes of n (x; carries, dy, dx, carries), 1 read more of x and dy each where rows are cut into strips; factors
 *   and masks twice. One discount for each of many short rows: 1 read more, and of masks.
 * Rounding: dx as y in discounted_cumsum; products and their sums in double.
 * Limits: no sums of k terms; 2^31 - 1 blocks.
 * Origin: Blelloch 1990; adjoint of a linear recurrence. */
#include "common/discounted_cumsum/adjoint.cuh"

static const ParamSpec TUNABLES[] = {DISCOUNT_TUNABLES, {}};

/* Scratch: carries, a number for each block, maps of strips. */
struct GradientPlan {
    DiscountLines lines;
    ScanShape shape;
    bool uniform, by_block; /* by_block: blocks add up the gradients of their lines */
    size_t blocks, carries_bytes, partials_bytes, bytes;
};

template <typename T> static GradientPlan plan_of(const VariantArgs *args) {
    typedef DiscountUniform<T, false> Uniform;
    typedef DiscountGeneral<T, false> General;
    const ScanChoice choice = discount_choice(args);
    const DiscountGamma per = discount_gamma_per(args);
    GradientPlan plan = {};
    plan.lines = discount_lines<T>(args, choice.threads);
    plan.uniform = discount_is_uniform(args) && plan.lines.rows == 1;
    plan.shape = plan.uniform ? discount_shape<Uniform>(plan.lines, choice) : discount_shape<General>(plan.lines, choice);
    plan.by_block = per == DISCOUNT_GAMMA_ALL || (per == DISCOUNT_GAMMA_ROW && plan.lines.rows == 1);
    plan.blocks = plan.shape.lines * plan.shape.strips;
    plan.carries_bytes = gradient_array_bytes(args);
    plan.partials_bytes = plan.by_block ? gradient_align(plan.blocks * sizeof(double)) : 0;
    plan.bytes = plan.carries_bytes + plan.partials_bytes + scan_scratch_bytes<General>(plan.shape);
    return plan;
}

static GradientPlan plan_for(const VariantArgs *args) {
    return args->problem->dtype == DTYPE_F64 ? plan_of<double>(args) : plan_of<float>(args);
}

static size_t scratch_bytes(const VariantArgs *args) {
    return discount_batch(args) == 0 || discount_n(args) == 0 ? 0 : plan_for(args).bytes;
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (!discount_choice_supports(args, reason) || !gradient_supports(args, reason)) return false;
    if (discount_batch(args) == 0 || discount_n(args) == 0) return true;
    return discount_fits_grid(args, plan_for(args).blocks, reason);
}

namespace { /* every variant has its own Kernels */
template <typename T, bool RIGHT> struct Kernels {
    static Status launch_on(const VariantArgs *args, const DiscountView<T> &) {
        const GradientPlan plan = plan_of<T>(args);
        const bool packed = discount_is_packed(args);
        T *carries = (T *)args->scratch, *dgamma = (T *)args->out[OUT_DGAMMA].data;
        double *partials = (double *)((char *)args->scratch + plan.carries_bytes);
        void *maps = (char *)partials + plan.partials_bytes, *stream = args->stream;
        const DiscountView<T> sums = gradient_sums_view(args, carries), adjoint = gradient_adjoint_view<T>(args);
        const GradientSum gradient = {plan.by_block ? partials : nullptr, 0};
        const bool each = sums.gamma_per == DISCOUNT_GAMMA_ELEMENT;
        if (plan.uniform) {
            const CarriesUniform<T, RIGHT> first = {{sums, plan.lines, packed, {}, 0, {}, 0}};
            const AdjointUniform<T, !RIGHT> second = {
                {adjoint, plan.lines, packed, {}, 0, {}, 0}, carries, gradient, plan.shape.strips};
            TRY(scan_launch(first, plan.shape, maps, stream));
            TRY(scan_launch(second, plan.shape, maps, stream));
        } else {
            const CarriesGeneral<T, RIGHT> first = {{{sums, plan.lines, packed, {}, 0, 0}}};
            const AdjointGeneral<T, !RIGHT> second = {
                {{adjoint, plan.lines, packed, {}, 0, 0}}, carries, each ? dgamma : nullptr, gradient, plan.shape.strips};
            TRY(scan_launch(first, plan.shape, maps, stream));
            TRY(scan_launch(second, plan.shape, maps, stream));
        }
        if (each) return STATUS_OK;
        const size_t outputs = gradient_outputs(args);
        const LaunchShape rows = {dim3((unsigned)outputs), dim3(gradient_threads(divide_up(sums.n, 2), GRADIENT_THREADS)), 0,
                                  stream};
        if (!plan.by_block)
            return launch(gradient_rows_kernel<T>, rows, sums, discount_is_right(args), (const T *)carries, (const T *)adjoint.y,
                          dgamma);
        return gradient_sum((const double *)partials, outputs, plan.blocks / outputs, dgamma, stream);
    }
};
} // namespace

static Status run(const VariantArgs *args) {
    return gradient_dispatch<Kernels>(args);
}

RUNGS_VARIANT(discounted_cumsum_grad, cuda_block_scan) = {
    .backend = BACKEND_CUDA,
    .summary = "two block scans, the second multiplies by what the first has carried",
    .origin = "Blelloch 1990; adjoint of a linear recurrence",
    .tunables = TUNABLES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
