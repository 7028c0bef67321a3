/* Idea: the matrix in blocks of 64 rows and 64 columns. A block is read once, converted to double and summed; then its means are
 *   subtracted and the powers summed while it is in the cache, corrected for the rounding of the means. Blocks are joined by
 *   Pebay's merge, with means that are pairs of doubles. Tasks of up to 16384 rows and 8 strips of columns go to all cores. A
 *   matrix of fewer than 64 columns is read as one of 64 / cols times as many columns and as many fewer rows.
 * Traffic: x once; a block of 64 x 64 doubles (32 KiB, with weights 64) stays in L1 or L2, and the next one is prefetched
 *   meanwhile.
 * Rounding: double for either dtype. Chains of 64 rows, 256 blocks and n / 16384 stretches. A mean has twice the digits of a
 *   double, so mean / sigma does not matter: the op's own bound.
 * Limits: a column of doubles whose deviations have powers out of range is read twice more, by one thread.
 * Origin: Pebay, Terriberry, Kolla and Bennett 2016; Chan, Golub and LeVeque 1983; Dekker 1971 for the pairs. */
#include "_shared.h"
#include "common/cpu_vector.h"

#include <float.h>
#include <omp.h>

static const ParamSpec TUNABLES[] = {
    {"threads", "0: as many as OpenMP gives", PARAM_INT, "0", 0, 1024, NULL},
    {0},
};

enum { LANES = 64, BLOCK = 64 /* rows: LANES * BLOCK doubles stay in the nearest cache or the one behind it */ };
enum { STRETCH = 16384 /* rows, at most */, TOGETHER = 8 /* strips of a task */, TASKS = 8 /* per thread, at least */ };

/* How the matrix is read: `fold` rows as one row of lanes = fold * cols. The last such row may have only `tail` lanes. */
typedef struct Layout {
    const MomentsJob *job;
    size_t fold, lanes, rows, tail;
} Layout;

typedef struct Spot {
    size_t row, lane;
} Spot;

/* Of a strip of LANES columns over some rows. The mean is a pair, mean + mean_low, so that differences of large means are exact. */
typedef struct Part {
    double weight[LANES], mean[LANES], mean_low[LANES], min[LANES], max[LANES], nans[LANES];
    double sum[POWERS_MAX + 1][LANES]; /* of w (x - mean)^p; [1] is 0 apart from rounding, and not used */
} Part;

/* One thread's block, converted, and its sums. */
typedef struct Block {
    double x[BLOCK][LANES], w[BLOCK][LANES];
    Part part;
} Block;

typedef Vector_f64 Vector;
enum { WIDTH = SCAN_LANES_f64 };

ALWAYS_INLINE Vector vector_load(const double *from) {
    Vector v;
    memcpy(&v, from, sizeof v);
    return v;
}

ALWAYS_INLINE void vector_store(double *to, Vector v) {
    memcpy(to, &v, sizeof v);
}

/* WIDTH elements as doubles. */
ALWAYS_INLINE Vector vector_elements(const void *x, size_t at, bool f32) {
    if (!f32) return vector_load((const double *)x + at);
#if defined __AVX512F__
    return (Vector)_mm512_cvtps_pd(_mm256_loadu_ps((const float *)x + at));
#elif defined __AVX__
    return (Vector)_mm256_cvtps_pd(_mm_loadu_ps((const float *)x + at));
#else
    Vector v;
    for (size_t l = 0; l < WIDTH; l++) v[l] = ((const float *)x)[at + l];
    return v;
#endif
}

/* Prefetches a row of the strip that is read next. */
ALWAYS_INLINE void strip_prefetch(const Layout *layout, Spot at, bool f32) {
    const size_t size = f32 ? sizeof(float) : sizeof(double);
    if (at.row >= layout->rows) return;
    const char *row = (const char *)layout->job->x + (at.row * layout->lanes + at.lane) * size;
    for (size_t b = 0; b < LANES * size; b += 64) __builtin_prefetch(row + b);
}

/* Converts `rows` rows of a whole strip, from row r of the block on, and adds their sums and extremes. */
ALWAYS_INLINE void load_rows(const Layout *layout, Block *restrict block, size_t begin, size_t r, size_t rows, size_t first,
                             bool f32, bool weighted) {
    Part *restrict part = &block->part;
    for (size_t l = 0; l < LANES; l += WIDTH) {
        Vector sum = vector_load(&part->mean[l]), min = vector_load(&part->min[l]), max = vector_load(&part->max[l]);
        for (size_t k = r; k < r + rows; k++) {
            const Vector x = vector_elements(layout->job->x, (begin + k) * layout->lanes + first + l, f32);
            vector_store(&block->x[k][l], x);
            sum += weighted ? vector_load(&block->w[k][l]) * x : x;
            min = vector_min_f64(x, min);
            max = vector_max_f64(x, max);
        }
        vector_store(&part->mean[l], sum);
        vector_store(&part->min[l], min);
        vector_store(&part->max[l], max);
    }
}

/* The same for a strip of fewer lanes. */
ALWAYS_INLINE void load_short_rows(const Layout *layout, Block *restrict block, size_t begin, size_t rows, size_t first,
                                   size_t count, bool f32, bool weighted) {
    Part *restrict part = &block->part;
    for (size_t r = 0; r < rows; r++)
        for (size_t l = 0; l < count; l++) {
            const double x = moments_element(layout->job->x, (begin + r) * layout->lanes + first + l, f32);
            block->x[r][l] = x;
            part->mean[l] += weighted ? block->w[r][l] * x : x;
            part->min[l] = x < part->min[l] ? x : part->min[l];
            part->max[l] = x > part->max[l] ? x : part->max[l];
        }
}

ALWAYS_INLINE void load_weights(const Layout *layout, Block *restrict block, size_t begin, size_t rows, size_t first, size_t count,
                                bool f32) {
    const size_t cols = layout->job->cols;
    for (size_t r = 0; r < rows; r++)
        for (size_t l = 0; l < count; l++) {
            const size_t row = layout->fold > 1 ? (begin + r) * layout->fold + (first + l) / cols : begin + r;
            block->w[r][l] = moments_element(layout->job->weights, row, f32);
            block->part.weight[l] += block->w[r][l];
        }
}

/* Rows begin .. begin + rows - 1, lanes first .. first + count - 1. */
ALWAYS_INLINE void block_load(const Layout *layout, Block *restrict block, size_t begin, size_t rows, size_t first, size_t count,
                              bool f32, bool weighted) {
    enum { AT_ONCE = 4 /* rows between two visits of the sums */ };
    Part *restrict part = &block->part;
    for (size_t l = 0; l < LANES; l++) {
        part->mean[l] = part->nans[l] = 0;
        part->weight[l] = weighted ? 0 : (double)rows;
        part->min[l] = INFINITY;
        part->max[l] = -INFINITY;
    }
    if (weighted) load_weights(layout, block, begin, rows, first, count, f32);
    if (count == LANES) {
        size_t r = 0;
        for (; r + AT_ONCE <= rows; r += AT_ONCE) load_rows(layout, block, begin, r, AT_ONCE, first, f32, weighted);
        for (; r < rows; r++) load_rows(layout, block, begin, r, 1, first, f32, weighted);
    } else {
        load_short_rows(layout, block, begin, rows, first, count, f32, weighted);
    }
    for (size_t l = 0; l < LANES; l++) part->mean[l] /= part->weight[l];
}

/* Sums of powers of the deviations; the block comes from the cache. The next one, at `next`, is prefetched meanwhile. */
ALWAYS_INLINE void block_powers(const Layout *layout, Block *restrict block, size_t rows, Spot next, bool f32, bool weighted,
                                int powers) {
    enum { GROUP = 2 /* vectors at a time: their sums stay in registers */ };
    for (size_t l = 0; l < LANES; l += GROUP * WIDTH) {
        Vector sum[POWERS_MAX + 1][GROUP] = {0}, mean[GROUP];
        memcpy(mean, &block->part.mean[l], sizeof mean);
        for (size_t r = 0; r < rows; r++) {
            if (l / (GROUP * WIDTH) == r % (LANES / (GROUP * WIDTH))) strip_prefetch(layout, (Spot){next.row + r, next.lane}, f32);
            for (int g = 0; g < GROUP; g++) {
                const size_t at = l + (size_t)g * WIDTH;
                const Vector d = vector_load(&block->x[r][at]) - mean[g], square = d * d;
                const Vector wd = weighted ? vector_load(&block->w[r][at]) * d : d, ws = weighted ? wd * d : square;
                sum[1][g] += wd;
                sum[2][g] += ws;
                sum[3][g] += ws * d;
                sum[4][g] += ws * square;
                if (powers > 4) sum[5][g] += (ws * square) * d;
                if (powers > 4) sum[6][g] += (ws * square) * square;
            }
        }
        for (int p = 1; p <= powers; p++) memcpy(&block->part.sum[p][l], sum[p], sizeof sum[p]);
    }
}

/* From sums about the rounded mean to sums about the mean. Counts NaN only where the mean is not finite. */
ALWAYS_INLINE void block_settle(Block *restrict block, size_t rows, size_t count, int powers) {
    Part *restrict part = &block->part;
    for (size_t l = 0; l < LANES; l++) {
        double s[POWERS_MAX + 1] = {part->weight[l]};
        for (int p = 1; p <= powers; p++) s[p] = part->sum[p][l];
        const double low = s[1] / s[0];
        moments_shift(s, -low, powers);
        part->mean_low[l] = low;
        for (int p = 2; p <= powers; p++) part->sum[p][l] = s[p];
    }
    for (size_t l = 0; l < count; l++)
        if (!(fabs(part->mean[l]) <= DBL_MAX)) /* by a NaN, or by an infinity */
            for (size_t r = 0; r < rows; r++) part->nans[l] += block->x[r][l] == block->x[r][l] ? 0 : 1;
}

/* a + b = hi + low exactly. */
ALWAYS_INLINE double exact_sum(double a, double b, double *low) {
    const double sum = a + b, part = sum - a;
    *low = (a - (sum - part)) + (b - part);
    return sum;
}

/* Joins lane m of right to lane l of left. */
ALWAYS_INLINE void part_join(Part *left, size_t l, const Part *right, size_t m, int powers) {
    double a[POWERS_MAX + 1] = {left->weight[l]}, b[POWERS_MAX + 1] = {right->weight[m]};
    for (int p = 2; p <= powers; p++) a[p] = left->sum[p][l], b[p] = right->sum[p][m];
    const double weight = a[0] + b[0];
    const double delta = (right->mean[m] - left->mean[l]) + (right->mean_low[m] - left->mean_low[l]);
    const double step = delta * (b[0] / weight);
    moments_shift(a, -step, powers);
    moments_shift(b, delta - step, powers);
    for (int p = 2; p <= powers; p++) left->sum[p][l] = a[p] + b[p];
    double rest, low;
    const double mean = exact_sum(left->mean[l], step, &rest);
    left->mean[l] = exact_sum(mean, rest + left->mean_low[l], &low);
    left->mean_low[l] = low;
    left->weight[l] = weight;
    left->min[l] = right->min[m] < left->min[l] ? right->min[m] : left->min[l];
    left->max[l] = right->max[m] > left->max[l] ? right->max[m] : left->max[l];
    left->nans[l] += right->nans[m];
}

ALWAYS_INLINE void add_block(const Layout *layout, Block *block, Part *out, bool begun, size_t begin, size_t rows, size_t first,
                             size_t count, Spot next, bool f32, bool weighted, int powers) {
    block_load(layout, block, begin, rows, first, count, f32, weighted);
    block_powers(layout, block, rows, next, f32, weighted, powers);
    block_settle(block, rows, count, powers);
    if (!begun) {
        *out = block->part;
        return;
    }
#pragma omp simd
    for (size_t l = 0; l < count; l++) part_join(out, l, &block->part, l, powers);
}

/* Rows begin .. end - 1 of `strips` neighbouring strips: long contiguous reads. */
ALWAYS_INLINE void add_stretch(const Layout *layout, Block *block, Part *out, size_t begin, size_t end, size_t first, size_t strips,
                               bool f32, bool weighted, int powers) {
    /* The short row is a block of its own. Only a folded matrix has one, and that has one strip. */
    const bool short_row = end == layout->rows && layout->tail < layout->lanes;
    const size_t whole = short_row ? end - 1 : end;
    for (size_t r = begin; r < whole; r += BLOCK)
        for (size_t t = 0; t < strips; t++) {
            const size_t lane = first + t * LANES, count = layout->lanes - lane < LANES ? layout->lanes - lane : LANES;
            const Spot next = t + 1 < strips ? (Spot){r, lane + LANES} : (Spot){r + BLOCK, first};
            add_block(layout, block, &out[t], r > begin, r, whole - r < BLOCK ? whole - r : BLOCK, lane, count, next, f32, weighted,
                      powers);
        }
    if (short_row)
        add_block(layout, block, out, whole > begin, whole, 1, first, layout->tail, (Spot){layout->rows, 0}, f32, weighted, powers);
}

/* One call per combination, so that dtype, weights and powers are constants inside. */
static void stretch(const Layout *layout, Block *block, Part *out, size_t begin, size_t end, size_t first, size_t strips) {
    const bool weighted = layout->job->weights != NULL, high = layout->job->powers > 4;
    if (layout->job->f32 && !weighted)
        high ? add_stretch(layout, block, out, begin, end, first, strips, true, false, 6)
             : add_stretch(layout, block, out, begin, end, first, strips, true, false, 4);
    else if (layout->job->f32)
        high ? add_stretch(layout, block, out, begin, end, first, strips, true, true, 6)
             : add_stretch(layout, block, out, begin, end, first, strips, true, true, 4);
    else if (!weighted)
        high ? add_stretch(layout, block, out, begin, end, first, strips, false, false, 6)
             : add_stretch(layout, block, out, begin, end, first, strips, false, false, 4);
    else
        high ? add_stretch(layout, block, out, begin, end, first, strips, false, true, 6)
             : add_stretch(layout, block, out, begin, end, first, strips, false, true, 4);
}

/* How the work is cut. */
typedef struct Plan {
    MomentsJob job;
    Layout layout;
    size_t strips, groups, stretch, stretches;
    int threads;
} Plan;

/* Joins a strip's stretches into the first. A stretch that is only a short row has no lanes behind its tail. */
static void join_stretches(const Plan *plan, Part *parts, size_t strip) {
    const Layout *layout = &plan->layout;
    const size_t width = layout->lanes - strip * LANES < LANES ? layout->lanes - strip * LANES : LANES;
    for (size_t s = 1; s < plan->stretches; s++) {
        const bool row = s * plan->stretch + 1 == layout->rows && layout->tail < layout->lanes;
        const size_t count = row && layout->tail < width ? layout->tail : width;
        for (size_t l = 0; l < count; l++) part_join(&parts[strip], l, &parts[s * plan->strips + strip], l, plan->job.powers);
    }
}

/* Lanes c, c + cols, ... of a folded matrix are column c. */
static void finish(const Plan *plan, Part *parts, size_t c) {
    const size_t cols = plan->job.cols, l = c % LANES;
    Part *part = &parts[c / LANES];
    for (size_t m = c + cols; m < plan->layout.lanes; m += cols) part_join(part, l, part, m, plan->job.powers);
    MomentsColumn column = {part->mean[l] + part->mean_low[l], part->min[l], part->max[l], {0}, part->nans[l] > 0, 0};
    for (int p = 2; p <= plan->job.powers; p++) column.central[p] = part->sum[p][l] / part->weight[l];
    moments_mend_range(&plan->job, c, &column);
    moments_finish(&plan->job, c, &column);
}

static size_t divide_up(size_t a, size_t b) {
    return (a + b - 1) / b;
}

static Plan plan_of(const VariantArgs *args) {
    Plan plan = {.job = moments_job(args), .threads = (int)params_int(args->tunables, "threads")};
    if (plan.threads == 0) plan.threads = omp_get_max_threads();
    const size_t cols = plan.job.cols, rows = plan.job.rows;
    size_t fold = cols < LANES ? LANES / cols : 1;
    if (fold > rows && rows > 0) fold = rows;
    plan.layout = (Layout){NULL, fold, cols * fold, divide_up(rows, fold), rows % fold ? rows % fold * cols : cols * fold};
    plan.strips = divide_up(plan.layout.lanes, LANES);
    plan.groups = divide_up(plan.strips, TOGETHER);
    const size_t wanted = divide_up(TASKS * (size_t)plan.threads, plan.groups);
    plan.stretch = divide_up(divide_up(plan.layout.rows, wanted), BLOCK) * BLOCK;
    if (plan.stretch > STRETCH) plan.stretch = STRETCH;
    plan.stretches = rows ? divide_up(plan.layout.rows, plan.stretch) : 0;
    return plan;
}

static Status run(const VariantArgs *args) {
    Plan plan = plan_of(args);
    plan.layout.job = &plan.job;
    if (plan.job.rows == 0) {
        for (size_t c = 0; c < plan.job.cols; c++) moments_finish(&plan.job, c, &(MomentsColumn){0});
        return STATUS_OK;
    }
    Part *parts = args->scratch;
#pragma omp parallel num_threads(plan.threads)
    {
        _Alignas(64) Block block = {0};
#pragma omp for schedule(dynamic) collapse(2)
        for (size_t s = 0; s < plan.stretches; s++)
            for (size_t g = 0; g < plan.groups; g++) {
                const size_t t = g * TOGETHER, begin = s * plan.stretch, end = begin + plan.stretch;
                stretch(&plan.layout, &block, &parts[s * plan.strips + t], begin, end < plan.layout.rows ? end : plan.layout.rows,
                        t * LANES, plan.strips - t < TOGETHER ? plan.strips - t : TOGETHER);
            }
#pragma omp for schedule(static)
        for (size_t t = 0; t < plan.strips; t++) join_stretches(&plan, parts, t);
#pragma omp for schedule(static)
        for (size_t c = 0; c < plan.job.cols; c++) finish(&plan, parts, c);
    }
    return STATUS_OK;
}

static size_t scratch_bytes(const VariantArgs *args) {
    const Plan plan = plan_of(args);
    return plan.stretches * plan.strips * sizeof(Part);
}

static const DType ACCUMULATES[] = {DTYPE_F64, DTYPE_COUNT};

RUNGS_VARIANT(moments, cpu_best) = {
    .backend = BACKEND_CPU,
    .summary =
        "one read: blocks of 64 x 64 about their own means, joined by Pebay's merge with means of twice the digits; all cores",
    .origin = "Pebay, Terriberry, Kolla and Bennett 2016; Chan, Golub and LeVeque 1983",
    .tunables = TUNABLES,
    .accumulates = ACCUMULATES,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
