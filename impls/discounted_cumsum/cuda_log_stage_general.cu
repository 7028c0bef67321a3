/* Idea: cuda_log_stage for every case. A stage launches only the threads that have an element to add to. Indices are 64-bit, stages
 * are counted in integers, and powers have the sign of their integer exponent. Factors of each element and masks: products of
 * factors in an array of their own, doubled along with the sums. Sums of k terms: maps of 2^s elements, doubled; those that the
 * bits of k ask for are composed. fused=1: the first eleven stages in one launch. A block has 2048 elements in shared memory and
 * joins their groups there; only groups of 2048 and more are joined in launches of their own. Powers come from a table that doubles
 * with the groups (gamma^(h+j) = gamma^h gamma^j), and by squaring later on.
 * Traffic: a copy, then log2(n) times half of y read and written; with factors twice that. fused=1: 1 read and 1 write of n, then
 *   log2(n / 2048) times that. k: log2(k) times 2 reads and 2 writes of maps.
 * Rounding: a tree of depth log2(n), and the error of pow(); fused=1: and that of the powers, of the same depth.
 * Limits: 2^31 - 1 blocks. Sums of k terms: the powers that join groups are within the range of the dtype. After a sum beyond the range,
 *   later sums may be finite. fused=0: where gamma^distance underflows to 0, inf becomes NaN; where it overflows (|gamma| > 1), 0
 * does.
 * Origin: torch-discounted-cumsum 1.1.0, generalised; stages fused. */
#include "common/discounted_cumsum/stages.cuh"

/* Before the first stage: a group is an element. */
template <typename T> static __global__ void factors_kernel(DiscountView<T> view, bool right, T *factors) {
    const size_t flat = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (flat >= view.batch * view.n) return;
    const size_t row = flat / view.n;
    factors[flat] = stage_sums_factor(view, right, row, flat - row * view.n);
}

/* k terms, before the first stage: part[i] is the map of element i. */
template <typename T> static __global__ void window_begin_kernel(DiscountView<T> view, bool right, Affine<T> *part) {
    const size_t flat = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (flat >= view.batch * view.n) return;
    const size_t row = flat / view.n;
    part[flat] = {stage_sums_factor(view, right, row, flat - row * view.n), view.x[flat]};
}

/* k terms, stage s, half = 2^s: part[i] is the map of the half elements that begin at i, or as many as the row has; sum[i] that of
 * the `done` elements that the lower bits of k ask for. Appends what bit s asks for to sum, and doubles part. */
template <typename T, bool RIGHT>
static __global__ void window_kernel(DiscountView<T> view, Affine<T> *sum, const Affine<T> *part, Affine<T> *doubled, size_t done,
                                     size_t half, bool append, bool last) {
    const size_t flat = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (flat >= view.batch * view.n) return;
    const size_t row = flat / view.n, column = flat - row * view.n, left = RIGHT ? view.n - 1 - column : column;
    Affine<T> all = done == 0 ? Affine<T>() : sum[flat];
    if (append && left >= done) {
        Affine<T> behind = part[RIGHT ? flat + done : flat - done];
        behind.merge(all);
        all = behind;
    }
    if (last) {
        view.y[flat] = all.b;
        return;
    }
    sum[flat] = all;
    Affine<T> both = part[flat];
    if (left >= half) {
        Affine<T> behind = part[RIGHT ? flat + half : flat - half];
        behind.merge(both);
        both = behind;
    }
    doubled[flat] = both;
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (!stage_supports(args, threads_of(args), reason)) return false;
    return !is_fused(args) || discount_fits_grid(args, tiles_of(args) * discount_batch(args), reason);
}

/* k terms: three maps for each element, two values each. */
static size_t scratch_bytes(const VariantArgs *args) {
    const size_t bytes = array_bytes(&args->out[0]);
    return discount_terms(args) > 0 ? 6 * bytes : stores_factors(args) ? bytes : 0;
}

template <typename T, bool RIGHT> static Status run_windows(const VariantArgs *args, const DiscountView<T> &view) {
    const size_t count = view.batch * view.n, terms = discount_terms(args);
    const LaunchShape flat = {dim3((unsigned)divide_up(count, STAGE_FLAT_THREADS)), dim3(STAGE_FLAT_THREADS), 0, args->stream};
    Affine<T> *sum = (Affine<T> *)args->scratch, *part = sum + count, *doubled = part + count;
    TRY(launch(window_begin_kernel<T>, flat, view, RIGHT, part));
    size_t done = 0;
    for (size_t half = 1; half <= terms; half *= 2) {
        const bool append = (terms & half) != 0, last = half > terms / 2;
        TRY(launch(window_kernel<T, RIGHT>, flat, view, sum, part, doubled, done, half, append, last));
        if (append) done += half;
        Affine<T> *const swap = part;
        part = doubled;
        doubled = swap;
    }
    return STATUS_OK;
}

static Status run(const VariantArgs *args) {
    return discount_run(args, [args]<typename T, bool RIGHT>() {
        const DiscountView<T> view = discount_view<T>(args);
        T *factors = (T *)args->scratch;
        if (discount_terms(args) > 0) return run_windows<T, RIGHT>(args, view);
        return run_stages<T, RIGHT, RIGHT>(args, view, factors,
                                           [&](LaunchShape flat) { return launch(factors_kernel<T>, flat, view, RIGHT, factors); });
    });
}

RUNGS_VARIANT(discounted_cumsum, cuda_log_stage_general) = {
    .backend = BACKEND_CUDA,
    .summary = "log-stage with no idle threads, 64-bit indices, any factors, masks and sums of k terms",
    .origin = "torch-discounted-cumsum 1.1.0; generalised; stages fused",
    .tunables = TUNABLES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
