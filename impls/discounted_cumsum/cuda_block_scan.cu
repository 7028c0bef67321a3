/* Idea: scan of affine maps (common/affine_scan.cuh). A thread sums the elements of 16 bytes, lanes and warps compose what they
 * have, a block walks along its part of a row. Work is dealt by shape: rows that a warp reads at once are put together and cut
 * apart by the maps; many rows have a block each, and that is one launch; few long rows are cut into strips, which takes three:
 * compose the strips, scan the compositions, walk. Sums of k terms: common/discounted_cumsum/window.cuh.
 * Traffic: 1 read and 1 write of n a row; 2 reads and 1 write where rows are cut into strips. k: 2 reads, 2 writes and one gather.
 * Rounding: float data within a thread in float, between threads in double; powers by squaring; depth about 4 + log2(n) and one for each
 *   tile of a strip.
 * Limits: 2^31 - 1 blocks. k > 128: |gamma|^(k-1) within the range of double. A partial sum that passes the range is an infinity,
 *   even if the whole sum comes back; what follows a whole sum that did may come back.
 * Origin: Blelloch 1990, Prefix sums and their applications (recurrences as scans); k terms: van Herk 1992, Gil and Werman 1993. */
#include "common/discounted_cumsum/window.cuh"

static const ParamSpec TUNABLES[] = {DISCOUNT_TUNABLES, {}};

static bool is_f64(const VariantArgs *args) {
    return args->problem->dtype == DTYPE_F64;
}

/* One row to a line and one factor to a row. */
static bool takes_uniform(const VariantArgs *args, const DiscountLines &lines) {
    return discount_is_uniform(args) && lines.rows == 1;
}

template <typename T> static ScanShape shape_of(const VariantArgs *args, const DiscountLines &lines) {
    const ScanChoice choice = discount_choice(args);
    return takes_uniform(args, lines) ? discount_shape<DiscountUniform<T, false>>(lines, choice)
                                      : discount_shape<DiscountGeneral<T, false>>(lines, choice);
}

template <typename T> static size_t scratch_bytes_typed(const VariantArgs *args) {
    const ScanChoice choice = discount_choice(args);
    const size_t terms = discount_terms(args);
    if (terms > 0) return terms <= WINDOW_DIRECT_MAX ? 0 : window_plan<T>(args, choice).bytes;
    return scan_scratch_bytes<DiscountGeneral<T, false>>(shape_of<T>(args, discount_lines<T>(args, choice.threads)));
}
static size_t scratch_bytes(const VariantArgs *args) {
    if (discount_batch(args) == 0 || discount_n(args) == 0) return 0;
    return is_f64(args) ? scratch_bytes_typed<double>(args) : scratch_bytes_typed<float>(args);
}

template <typename T> static size_t blocks_typed(const VariantArgs *args) {
    const ScanChoice choice = discount_choice(args);
    const size_t terms = discount_terms(args);
    if (terms > 0 && terms <= WINDOW_DIRECT_MAX) return divide_up(discount_batch(args) * discount_n(args), (size_t)WINDOW_THREADS);
    const ScanShape shape =
        terms > 0 ? window_plan<T>(args, choice).sums : shape_of<T>(args, discount_lines<T>(args, choice.threads));
    return shape.lines * shape.strips;
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (!discount_choice_supports(args, reason) || !window_supports(args, reason)) return false;
    if (discount_batch(args) == 0 || discount_n(args) == 0) return true;
    return discount_fits_grid(args, is_f64(args) ? blocks_typed<double>(args) : blocks_typed<float>(args), reason);
}

namespace { /* every variant has its own Kernels */
template <typename T, bool RIGHT> struct Kernels {
    static Status launch_on(const VariantArgs *args, const DiscountView<T> &view) {
        const ScanChoice choice = discount_choice(args);
        if (discount_terms(args) > 0) return window_launch<T, RIGHT>(args, view, choice);
        const DiscountLines lines = discount_lines<T>(args, choice.threads);
        const ScanShape shape = shape_of<T>(args, lines);
        const bool packed = discount_is_packed(args);
        if (takes_uniform(args, lines)) {
            const DiscountUniform<T, RIGHT> work = {view, lines, packed, {}, 0, {}, 0};
            return scan_launch(work, shape, args->scratch, args->stream);
        }
        const DiscountGeneral<T, RIGHT> work = {{view, lines, packed, {}, 0, 0}};
        return scan_launch(work, shape, args->scratch, args->stream);
    }
};
} // namespace

static Status run(const VariantArgs *args) {
    return discount_dispatch<Kernels>(args);
}

RUNGS_VARIANT(discounted_cumsum, cuda_block_scan) = {
    .backend = BACKEND_CUDA,
    .summary = "affine maps scanned in blocks, carried along rows: one launch or three by shape",
    .origin = "Blelloch 1990",
    .tunables = TUNABLES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
