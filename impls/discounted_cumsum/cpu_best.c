/* Idea: all cores, eight positions of a row at a time.
 *
 *   - Rows for at least half the threads: whole rows for each; below 256 elements eight rows side by side, in the dtype.
 *   - Fewer, long ones: blocks of up to 2^15 positions that threads take in turn. A block is read once to see what it carries out,
 *     waits for what comes in, publishes what it carries out, and is written while it is still in the cache (stretch.h).
 *   - k <= 32: each window from its far end, k steps; the compiler takes neighbouring windows side by side.
 *   - k > 32: blocks of k, a window is the head of one and the tail of another; threads share the blocks.
 *
 * Traffic: each element once in and once out; in blocks twice in, the second time from the cache.
 * Rounding: in double, to the dtype once, with at most 3 + n/8 steps in a chain and powers of gamma by squaring; what goes from block to
 *   block is double. Short rows and windows: in the dtype.
 * Limits: windows with n / k below the number of cores leave cores idle. k > 32: |gamma|^(k-1) within the range of
 *   the dtype. A partial sum beyond the range is an infinity, even if the whole sum is within it; in long rows, and with more
 *   than one thread, sums after a whole sum beyond the range may be finite.
 * Origin: Blelloch (1990) for the affine scan; a chain of blocks with the carry handed on: Yan et al., StreamScan (2013). */
#ifdef __AVX512F__
#pragma GCC target("prefer-vector-width=512")
#endif
#include "common/cpu_chain.h"
#include "common/discounted_cumsum/stretch.h"
#include "discounted_cumsum/_shared.h"

#include <omp.h>

enum { SHORT_ROW = 256, SHORT_WINDOW = 32, OUTPUTS = 64 };

/* Joining eight rows in vectors takes more gathering than it saves. */
#pragma GCC push_options
#pragma GCC optimize("no-tree-vectorize", "no-tree-slp-vectorize")
DCS_DEFINE_ROWS(float, f32, EIGHT)
DCS_DEFINE_ROWS(double, f64, EIGHT)

static void run_short_rows(const DcsJob *job) {
#pragma omp parallel for schedule(static) num_threads(job->threads)
    for (size_t row = 0; row < job->rows; row += EIGHT) {
        if (row + EIGHT <= job->rows) {
            if (job->f32)
                rows_f32(job, row, EIGHT);
            else
                rows_f64(job, row, EIGHT);
            continue;
        }
        for (size_t r = row; r < job->rows; r++) {
            if (job->f32)
                rows_f32(job, r, 1);
            else
                rows_f64(job, r, 1);
        }
    }
}
#pragma GCC pop_options

static void run_rows(const DcsJob *job) {
#pragma omp parallel num_threads(job->threads)
    {
#pragma omp for schedule(static)
        for (size_t r = 0; r < job->rows; r++) dcs_write(job, dcs_walk(job, dcs_row(job, r), 0), job->n, 0);
        scan_store_fence();
    }
}

/* ---- Chains of blocks (common/cpu_chain.h). */
typedef struct Link {
    ChainSlot slot;
    double carry; /* out of the block */
} Link;

enum { READ_TWICE = 4 };

/* Whole rows to each thread, unless more than half the threads would have none: the blocks of a chain are read twice. */
static bool by_rows(const DcsJob *job) {
    return 2 * job->rows >= (size_t)job->threads;
}

/* How the job is shared. In a chain each thread has to have more to do than on rows of its own. */
static void share(DcsJob *job, long long threads) {
    const size_t elements = job->rows * job->n;
    job->threads = chain_threads(threads, omp_get_max_threads(), elements);
    if (threads <= 0 && job->k == 0 && !by_rows(job)) job->threads = chain_threads(0, job->threads, elements / READ_TWICE);
    if (job->k == 0 && by_rows(job) && job->rows < (size_t)job->threads) job->threads = job->rows > 1 ? (int)job->rows : 1;
    job->block = by_rows(job) ? CHAIN_BLOCK : chain_block_size(elements, job->threads);
}

static bool is_chained(const DcsJob *job) {
    return job->k == 0 && !by_rows(job) && job->n > job->block;
}

static size_t chain_bytes(const DcsJob *job) {
    return job->rows * dcs_blocks(job->n, job->block) * sizeof(Link);
}

/* alone: there is one thread, so that what comes in is always there. */
static void chain_block(const DcsJob *job, size_t row, size_t block, bool alone, Link *link) {
    const size_t from = block * job->block, count = job->n - from < job->block ? job->n - from : job->block;
    const DcsWalk at = dcs_walk(job, row, from);
    double weight = 0, out = NAN, in = 0;
    if (!alone && from + count < job->n) out = dcs_measure(job, at, count, &weight);
    if (block > 0) {
        chain_wait(&link[-1].slot);
        in = link[-1].carry;
    }
    const bool known = isfinite(in) && fabs(weight) <= DBL_MAX && fabs(out + weight * in) <= dcs_limit(job->f32);
    if (known) {
        link->carry = out + weight * in;
        chain_publish(&link->slot);
    }
    const double end = dcs_write(job, at, count, in);
    if (!known) {
        link->carry = end;
        chain_publish(&link->slot);
    }
}

/* links: chain_bytes of scratch. */
static void run_chained(const DcsJob *job, void *scratch) {
    Link *links = scratch;
    const size_t per_row = dcs_blocks(job->n, job->block), blocks = job->rows * per_row;
    for (size_t b = 0; b < blocks; b++) atomic_init(&links[b].slot.ready, 0);
#pragma omp parallel num_threads(job->threads)
    {
        const size_t team = (size_t)omp_get_num_threads();
        for (size_t b = (size_t)omp_get_thread_num(); b < blocks; b += team)
            chain_block(job, b / per_row, b % per_row, team == 1, &links[b]);
        scan_store_fence();
    }
}

static void run_long_windows(const DcsJob *job) {
    const size_t per_row = dcs_blocks(job->n, job->k);
#pragma omp parallel for schedule(static) num_threads(job->threads)
    for (size_t b = 0; b < job->rows * per_row; b++) dcs_window_block(job, b / per_row, b % per_row * job->k);
}

#define DEFINE_WINDOWS(T, suffix)                                                                                                  \
    /* Outputs [first, first + count) of a row, all of whose windows have k elements: each by its recurrence from its far end. */  \
    static inline                                                                                                                  \
        __attribute__((always_inline)) void windows_##suffix(const DcsJob *job, size_t row, size_t first, size_t count) {          \
        const ptrdiff_t away = job->right ? 1 : -1, scale = job->gamma_element ? 1 : 0;                                            \
        const T *x = (const T *)job->x + row * job->n + first;                                                                     \
        const T *gamma = (const T *)job->gamma + row * job->gamma_row + first * job->gamma_element;                                \
        const uint8_t *reset = job->reset ? job->reset + row * job->n + first : NULL;                                              \
        T *y = (T *)job->y + row * job->n + first, sum[OUTPUTS];                                                                   \
        const T shared = gamma[0];                                                                                                 \
        for (size_t i = 0; i < count; i++) sum[i] = x[(ptrdiff_t)i + away * (ptrdiff_t)(job->k - 1)];                              \
        for (ptrdiff_t d = (ptrdiff_t)job->k - 2; d >= 0; d--) {                                                                   \
            const T *at = x + away * d, *factor = gamma + away * d * scale;                                                        \
            if (scale)                                                                                                             \
                for (size_t i = 0; i < count; i++) sum[i] *= factor[i];                                                            \
            else                                                                                                                   \
                for (size_t i = 0; i < count; i++) sum[i] *= shared;                                                               \
            if (reset)                                                                                                             \
                for (size_t i = 0; i < count; i++) sum[i] = (reset + away * d)[i] ? at[i] : at[i] + sum[i];                        \
            else                                                                                                                   \
                for (size_t i = 0; i < count; i++) sum[i] = at[i] + sum[i];                                                        \
        }                                                                                                                          \
        for (size_t i = 0; i < count; i++) y[i] = sum[i];                                                                          \
    }
DEFINE_WINDOWS(float, f32)
DEFINE_WINDOWS(double, f64)

/* The first k - 1 positions of a row are sums of what there is: the recurrence. */
static void run_short_windows(const DcsJob *job) {
    const size_t whole = job->n - (job->k - 1), start = job->right ? 0 : job->k - 1, per_row = dcs_blocks(whole, OUTPUTS);
#pragma omp parallel for schedule(static) num_threads(job->threads)
    for (size_t b = 0; b < job->rows * per_row; b++) {
        const size_t row = b / per_row, first = b % per_row * OUTPUTS, count = whole - first < OUTPUTS ? whole - first : OUTPUTS;
        if (first == 0) {
            const DcsWalk at = dcs_walk(job, row, 0);
            dcs_one_by_one(job, &at, job->k - 1, job->y, 0);
        }
        if (count == OUTPUTS && job->f32)
            windows_f32(job, row, start + first, OUTPUTS); /* a constant, so that sums stay in registers */
        else if (count == OUTPUTS)
            windows_f64(job, row, start + first, OUTPUTS);
        else if (job->f32)
            windows_f32(job, row, start + first, count);
        else
            windows_f64(job, row, start + first, count);
    }
}

static size_t scratch_bytes(const VariantArgs *args) {
    DcsJob job = dcs_job(args);
    share(&job, params_int(args->tunables, "threads"));
    return is_chained(&job) ? chain_bytes(&job) : 0;
}

/* Short windows are recurrences: no powers. */
static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return dcs_job(args).k <= SHORT_WINDOW || dcs_blocks_fit(args, reason);
}

static Status run(const VariantArgs *args) {
    DcsJob job = dcs_job(args);
    job.reset = dcs_reset(args, DCS_RESET);
    share(&job, params_int(args->tunables, "threads"));
    job.past_caches = array_bytes(&args->out[0]) >= SCAN_PAST_CACHES;
    if (job.rows == 0 || job.n == 0) return STATUS_OK;
    if (is_chained(&job))
        run_chained(&job, args->scratch);
    else if (job.k == 0 && job.n >= SHORT_ROW)
        run_rows(&job);
    else if (job.k == 0)
        run_short_rows(&job);
    else if (job.k <= SHORT_WINDOW)
        run_short_windows(&job);
    else
        run_long_windows(&job);
    return STATUS_OK;
}

static const ParamSpec TUNABLES[] = {
    {"threads", "threads; 0: all cores, fewer where there is little to do", PARAM_INT, "0", 0, 4096, NULL},
    {0},
};

RUNGS_VARIANT(discounted_cumsum, cpu_best) = {
    .backend = BACKEND_CPU,
    .summary = "affine scans of eight positions in double, blocks that hand their carry from thread to thread, all cores",
    .origin = "Blelloch 1990; the chain of blocks: Yan, Long and Zhang 2013 (StreamScan)",
    .tunables = TUNABLES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
