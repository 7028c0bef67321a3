/* Idea: a binary tree over the rows. A leaf is 16 rows: their mean, then sums about it. Two parts of equal length are joined by
 *   Pebay's merge until one is left. Vectors across columns, one thread.
 * Traffic: x once: the second pass over a leaf, 16 rows of 64 columns (4 or 8 KiB), finds it in the cache.
 * Rounding: double for either dtype; no chain is longer than 16 + log2(n). But every merge rounds a mean, a relative error of u
 *   mean / sigma: float64 data with a large mean need the bound `updating`.
 * Limits: powers of deviations must stay within the range of double.
 * Origin: Pebay, Terriberry, Kolla and Bennett 2016; Chan, Golub and LeVeque 1979 for the tree. */
#include "_shared.h"

enum { LEAF = 16, LANES = 64, LEVELS = 48 };

/* Of a strip of columns over some rows. */
typedef struct Part {
    double weight; /* the same for all columns */
    double mean[LANES], min[LANES], max[LANES], nans[LANES];
    double sum[POWERS_MAX + 1][LANES]; /* [2 ..]: of w (x - mean)^p */
} Part;

/* left becomes both. */
ALWAYS_INLINE void merge(Part *restrict left, const Part *restrict right, int powers) {
    const double weight = left->weight + right->weight, share = right->weight / weight;
    for (size_t l = 0; l < LANES; l++) {
        const double delta = right->mean[l] - left->mean[l];
        double a[POWERS_MAX + 1] = {left->weight}, b[POWERS_MAX + 1] = {right->weight};
        for (int p = 2; p <= powers; p++) a[p] = left->sum[p][l], b[p] = right->sum[p][l];
        moments_shift(a, -delta * share, powers);
        moments_shift(b, delta * (left->weight / weight), powers);
        for (int p = 2; p <= powers; p++) left->sum[p][l] = a[p] + b[p];
        left->mean[l] += delta * share;
        left->min[l] = right->min[l] < left->min[l] ? right->min[l] : left->min[l];
        left->max[l] = right->max[l] > left->max[l] ? right->max[l] : left->max[l];
        left->nans[l] += right->nans[l];
    }
    left->weight = weight;
}

ALWAYS_INLINE void leaf(const MomentsJob *job, Part *restrict out, size_t begin, size_t end, size_t first, size_t count, bool f32,
                        int powers) {
    *out = (Part){0};
    for (size_t l = 0; l < count; l++) {
        out->min[l] = INFINITY;
        out->max[l] = -INFINITY;
    }
    for (size_t r = begin; r < end; r++) {
        const double w = job->weights ? moments_element(job->weights, r, f32) : 1;
        out->weight += w;
        for (size_t l = 0; l < count; l++) {
            const double x = moments_element(job->x, r * job->cols + first + l, f32);
            out->mean[l] += w * x;
            out->min[l] = x < out->min[l] ? x : out->min[l];
            out->max[l] = x > out->max[l] ? x : out->max[l];
            out->nans[l] += x == x ? 0 : 1;
        }
    }
    for (size_t l = 0; l < count; l++) out->mean[l] /= out->weight;
    for (size_t r = begin; r < end; r++) {
        const double w = job->weights ? moments_element(job->weights, r, f32) : 1;
        for (size_t l = 0; l < count; l++) {
            const double d = moments_element(job->x, r * job->cols + first + l, f32) - out->mean[l];
            double product = w * d;
            for (int p = 2; p <= powers; p++) out->sum[p][l] += product *= d;
        }
    }
}

/* Leaves come in order. An entry of the stack stands for 2^k leaves, like the ones of a binary counter. */
ALWAYS_INLINE void tree(const MomentsJob *job, Part *stack, size_t first, size_t count, bool f32, int powers) {
    int depth = 0;
    size_t leaves = 0;
    for (size_t begin = 0; begin < job->rows; begin += LEAF) {
        leaf(job, &stack[depth++], begin, begin + LEAF < job->rows ? begin + LEAF : job->rows, first, count, f32, powers);
        for (size_t ones = ++leaves; ones % 2 == 0; ones /= 2, depth--) merge(&stack[depth - 2], &stack[depth - 1], powers);
    }
    for (; depth > 1; depth--) merge(&stack[depth - 2], &stack[depth - 1], powers);
}

static size_t scratch_bytes(const VariantArgs *args) {
    (void)args;
    return LEVELS * sizeof(Part);
}

static Status run(const VariantArgs *args) {
    const MomentsJob job = moments_job(args);
    Part *stack = args->scratch;
    for (size_t first = 0; first < job.cols; first += LANES) {
        const size_t count = job.cols - first < LANES ? job.cols - first : LANES;
        stack[0] = (Part){0};
        if (job.powers == 4)
            job.f32 ? tree(&job, stack, first, count, true, 4) : tree(&job, stack, first, count, false, 4);
        else
            job.f32 ? tree(&job, stack, first, count, true, 6) : tree(&job, stack, first, count, false, 6);
        for (size_t l = 0; l < count; l++) {
            MomentsColumn column = {stack->mean[l], stack->min[l], stack->max[l], {0}, stack->nans[l] > 0, 0};
            for (int p = 2; p <= job.powers; p++) column.central[p] = stack->sum[p][l] / stack->weight;
            moments_finish(&job, first + l, &column);
        }
    }
    return STATUS_OK;
}

RUNGS_VARIANT(moments, cpu_pairwise) = {
    .backend = BACKEND_CPU,
    .summary = "a binary tree of Pebay's merges over leaves of 16 rows, one thread",
    .origin = "Pebay, Terriberry, Kolla and Bennett 2016",
    .bound = "updating",
    .scratch_bytes = scratch_bytes,
    .run = run,
};
