/* Idea: the matrix in blocks of 256 rows and 64 columns, each read once: powers of the deviations from the mean of the block
 * before, four or eight rows at a time in registers, then shifted to the block's own mean. Where that lies far from the center, the
 * block is read again about it, from the cache. Blocks are joined by Pebay's merge, with means that are pairs of doubles. Tasks of
 * up to 16384 rows and 2 KiB of a row go to all cores. A matrix of fewer than 64 columns is read as one of 64 / cols times as many
 *   columns and as many fewer rows.
 * Traffic: x once; 16 rows ahead (float: 32) are prefetched.
 * Rounding: double for either dtype. Chains of 4 (float: 8) rows, 64 (32) of these, 64 blocks and n / 16384 stretches. A mean has
 *   twice the digits of a double, so mean / sigma does not matter: the op's own bound.
 * Limits: a column of doubles whose deviations have powers out of range is read twice more, by one thread. Blocks whose means differ
 *   by more than a third of their sigma, as in sorted columns, are summed twice.
 * Origin: Pebay, Terriberry, Kolla and Bennett 2016; Chan, Golub and LeVeque 1983; Dekker 1971 for the pairs. */
#pragma GCC optimize("fp-contract=fast")
#include "_shared.h"
#include "common/cpu_vector.h"

#include <float.h>
#include <omp.h>

static const ParamSpec TUNABLES[] = {
    {"threads", "0: as many as OpenMP gives", PARAM_INT, "0", 0, 1024, NULL},
    {0},
};

enum { LANES = 64, BLOCK = 256 /* rows */, FIRST = 64 /* rows whose mean is the first center */ };
enum { STRETCH = 16384 /* rows, at most */, TOGETHER = 8 /* strips of a task, at most */, TASKS = 8 /* per thread, at least */ };
static const double FAR = 0.125; /* (mean - center)^2 beside the mean square of x - center: from here on differences lose digits */

/* How the matrix is read: `fold` rows as one row of lanes = fold * cols. The last such row may have only `tail` lanes. */
typedef struct Layout {
    const MomentsJob *job;
    size_t fold, lanes, rows, tail;
} Layout;

/* Constants of a copy of the loops. */
typedef struct Kind {
    bool f32, weighted;
    int powers;
} Kind;

/* Rows: where the first of them is, and how many elements apart they are. */
typedef struct Rows {
    const void *x;
    size_t stride;
    bool f32;
} Rows;

/* Of a strip of LANES columns over some rows. The mean is a pair, mean + mean_low, so that differences of large means are exact. */
typedef struct Part {
    double weight[LANES], mean[LANES], mean_low[LANES], min[LANES], max[LANES], nans[LANES];
    double sum[POWERS_MAX + 1][LANES]; /* of w (x - mean)^p; [1] is 0 apart from rounding, and not used */
} Part;

/* One thread's block. */
typedef struct Block {
    double w[BLOCK][LANES];
    double last[TOGETHER * LANES];  /* a row at the end of the matrix, with zeros behind it */
    double center[TOGETHER][LANES]; /* of each strip: about what the powers are */
    Part part[TOGETHER];
} Block;

typedef Vector_f64 Vector;
enum { WIDTH = SCAN_LANES_f64, GROUP = 2 /* vectors at a time: their sums stay in registers */ };

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

ALWAYS_INLINE size_t size_of(bool f32) {
    return f32 ? sizeof(float) : sizeof(double);
}

/* Rows between two visits of the sums: few, as rows 4 KiB apart share a set of the nearest cache. */
ALWAYS_INLINE size_t at_once(bool f32) {
    return f32 ? 8 : 4;
}

ALWAYS_INLINE Rows rows_from(Rows rows, size_t row, size_t lane) {
    return (Rows){(const char *)rows.x + (row * rows.stride + lane) * size_of(rows.f32), rows.stride, rows.f32};
}

/* Prefetches part `i` of what follows at_once() rows of a strip, later: in the order of addresses, of which the machine makes
 * longer reads. */
ALWAYS_INLINE void prefetch_part(Rows rows, size_t i, bool f32) {
    enum { LINE = 64, LATER = 4 };
    const size_t bytes = GROUP * WIDTH * size_of(f32), at = i * bytes, row = LANES * size_of(f32);
    const uintptr_t ahead = (uintptr_t)rows.x + (LATER * at_once(f32) + at / row) * rows.stride * size_of(f32) + at % row;
    for (size_t b = 0; b < bytes; b += LINE) __builtin_prefetch((const void *)(ahead + b));
}

/* Adds the powers of the deviations in up to at_once() rows of a strip, and their extremes. */
ALWAYS_INLINE void add_rows(Part *restrict part, const double *restrict center, Rows from, const double (*restrict w)[LANES],
                            size_t rows, Kind kind) {
    for (size_t l = 0; l < LANES; l += GROUP * WIDTH) {
        Vector sum[POWERS_MAX + 1][GROUP] = {0}, min[GROUP], max[GROUP], about[GROUP];
        memcpy(min, &part->min[l], sizeof min);
        memcpy(max, &part->max[l], sizeof max);
        memcpy(about, &center[l], sizeof about);
        for (size_t r = 0; r < rows; r++) {
            prefetch_part(from, l / (GROUP * WIDTH) * at_once(kind.f32) + r, kind.f32);
            for (size_t g = 0; g < GROUP; g++) {
                const size_t at = l + g * WIDTH;
                const Vector x = vector_elements(from.x, r * from.stride + at, kind.f32), d = x - about[g], square = d * d;
                const Vector wd = kind.weighted ? vector_load(&w[r][at]) * d : d, ws = kind.weighted ? wd * d : square;
                min[g] = vector_min_f64(x, min[g]);
                max[g] = vector_max_f64(x, max[g]);
                sum[1][g] += wd;
                sum[2][g] += ws;
                sum[3][g] += ws * d;
                sum[4][g] += ws * square;
                if (kind.powers > 4) sum[5][g] += (ws * square) * d;
                if (kind.powers > 4) sum[6][g] += (ws * square) * square;
            }
        }
        memcpy(&part->min[l], min, sizeof min);
        memcpy(&part->max[l], max, sizeof max);
        for (int p = 1; p <= kind.powers; p++)
            for (size_t g = 0; g < GROUP; g++) {
                double *total = &part->sum[p][l + g * WIDTH];
                vector_store(total, vector_load(total) + sum[p][g]);
            }
    }
}

static void part_clear(Part *part) {
    memset(part->sum, 0, sizeof part->sum);
    for (size_t l = 0; l < LANES; l++) part->min[l] = INFINITY, part->max[l] = -INFINITY;
}

/* Where no block came before: the mean of the first rows, without weights. */
ALWAYS_INLINE void first_center(double *restrict center, Rows from, size_t rows, bool f32) {
    const size_t count = rows < FIRST ? rows : FIRST;
    for (size_t l = 0; l < LANES; l += WIDTH) {
        Vector sum = {0};
        for (size_t r = 0; r < count; r++) sum += vector_elements(from.x, r * from.stride + l, f32);
        vector_store(&center[l], sum / (double)count);
    }
    for (size_t l = 0; l < LANES; l++) center[l] = fabs(center[l]) <= DBL_MAX ? center[l] : 0;
}

/* Is a center far from the mean? Not where sums are no numbers. */
ALWAYS_INLINE bool is_far(const Part *part, size_t count) {
    int far = 0;
    for (size_t l = 0; l < count; l++) far |= part->sum[1][l] * part->sum[1][l] > FAR * part->sum[2][l] * part->weight[l];
    return far != 0;
}

/* The mean becomes the center. */
ALWAYS_INLINE void move_center(const Part *part, double *restrict center) {
    for (size_t l = 0; l < LANES; l++) {
        const double mean = center[l] + part->sum[1][l] / part->weight[l];
        center[l] = fabs(mean) <= DBL_MAX ? mean : center[l];
    }
}

/* From sums about the center to sums about the mean. Counts NaN only where the sum is not finite. */
ALWAYS_INLINE void block_settle(Part *restrict part, const double *restrict center, Rows from, size_t rows, size_t count,
                                int powers) {
    for (size_t l = 0; l < LANES; l++) {
        double s[POWERS_MAX + 1] = {part->weight[l]};
        for (int p = 1; p <= powers; p++) s[p] = part->sum[p][l];
        const double low = s[1] / s[0];
        moments_shift(s, -low, powers);
        part->nans[l] = 0;
        part->mean[l] = center[l] + low;
        part->mean_low[l] = low - (part->mean[l] - center[l]);
        for (int p = 2; p <= powers; p++) part->sum[p][l] = s[p];
    }
    for (size_t l = 0; l < count; l++)
        if (!(fabs(part->sum[1][l]) <= DBL_MAX)) /* by a NaN, or by an infinity */
            for (size_t r = 0; r < rows; r++)
                part->nans[l] += isnan(moments_element(from.x, r * from.stride + l, from.f32)) ? 1 : 0;
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

/* Strip t of a task, its sums about the center: about the mean, joined to `out`. */
ALWAYS_INLINE void join_block(Block *restrict block, size_t t, Part *out, bool begun, Rows from, size_t rows, size_t count,
                              Kind kind) {
    Part *part = &block->part[t];
    double *center = block->center[t];
    if (is_far(part, count)) {
        move_center(part, center);
        part_clear(part);
        for (size_t r = 0; r < rows; r += at_once(kind.f32))
            add_rows(part, center, rows_from(from, r, 0), &block->w[r], rows - r < at_once(kind.f32) ? rows - r : at_once(kind.f32),
                     kind);
    }
    block_settle(part, center, from, rows, count, kind.powers);
    for (size_t l = 0; l < LANES; l++) center[l] = fabs(part->mean[l]) <= DBL_MAX ? part->mean[l] : center[l];
    if (!begun) {
        *out = *part;
        return;
    }
#pragma omp simd
    for (size_t l = 0; l < count; l++) part_join(out, l, part, l, kind.powers);
}

/* Weights of the lanes of a strip: of all strips, as a matrix that is folded has one. */
static void load_weights(const Layout *layout, Block *block, size_t begin, size_t rows, size_t lanes) {
    const MomentsJob *job = layout->job;
    double *total = block->part[0].weight;
    for (size_t l = 0; l < LANES; l++) total[l] = 0;
    for (size_t r = 0; r < rows; r++)
        for (size_t l = 0; l < LANES; l++) {
            const size_t row = layout->fold > 1 ? (begin + r) * layout->fold + l / job->cols : begin + r;
            block->w[r][l] = l < lanes ? moments_element(job->weights, row, job->f32) : 1;
            total[l] += block->w[r][l];
        }
}

/* Rows begin .. begin + rows - 1 of `strips` neighbouring strips with `lanes` lanes. What else is read of the last strip is not
 * used. */
ALWAYS_INLINE void add_block(const Layout *layout, Block *block, Part *out, bool begun, size_t begin, size_t rows, Rows from,
                             size_t strips, size_t lanes, Kind kind) {
    const size_t step = at_once(kind.f32);
    if (kind.weighted) load_weights(layout, block, begin, rows, lanes);
    for (size_t t = 0; t < strips; t++) {
        for (size_t l = 0; l < LANES; l++) block->part[t].weight[l] = kind.weighted ? block->part[0].weight[l] : (double)rows;
        part_clear(&block->part[t]);
        if (!begun) first_center(block->center[t], rows_from(from, 0, t * LANES), rows, kind.f32);
    }
    for (size_t r = 0; r < rows; r += step)
        for (size_t t = 0; t < strips; t++)
            add_rows(&block->part[t], block->center[t], rows_from(from, r, t * LANES), &block->w[r],
                     rows - r < step ? rows - r : step, kind);
    for (size_t t = 0; t < strips; t++) {
        const size_t left = lanes - t * LANES;
        join_block(block, t, &out[t], begun, rows_from(from, 0, t * LANES), rows, left < LANES ? left : LANES, kind);
    }
}

/* Rows begin .. end - 1 of `strips` neighbouring strips: long contiguous reads. */
ALWAYS_INLINE void add_stretch(const Layout *layout, Block *block, Part *out, size_t begin, size_t end, size_t first, size_t strips,
                               Kind kind) {
    const MomentsJob *job = layout->job;
    const size_t width = strips * LANES, lanes = layout->lanes - first;
    const Rows x = rows_from((Rows){job->x, layout->lanes, kind.f32}, 0, first);
    size_t whole = end; /* rows whose last strip ends within the matrix */
    while (whole > begin && (whole - 1) * layout->lanes + first + width > job->rows * job->cols) whole--;
    for (size_t r = begin; r < whole; r += BLOCK)
        add_block(layout, block, out, r > begin, r, whole - r < BLOCK ? whole - r : BLOCK, rows_from(x, r, 0), strips, lanes, kind);
    for (size_t r = whole; r < end; r++) {
        const size_t left = r + 1 == layout->rows ? layout->tail - first : lanes,
                     bytes = (left < width ? left : width) * size_of(kind.f32);
        memset(block->last, 0, sizeof block->last);
        memcpy(block->last, rows_from(x, r, 0).x, bytes);
        add_block(layout, block, out, r > begin, r, 1, (Rows){block->last, width, kind.f32}, strips, left, kind);
    }
}

/* One call per combination, so that dtype, weights and powers are constants inside. */
static void stretch(const Layout *layout, Block *block, Part *out, size_t begin, size_t end, size_t first, size_t strips) {
    const bool weighted = layout->job->weights != NULL, high = layout->job->powers > 4;
    if (layout->job->f32 && !weighted)
        high ? add_stretch(layout, block, out, begin, end, first, strips, (Kind){true, false, 6})
             : add_stretch(layout, block, out, begin, end, first, strips, (Kind){true, false, 4});
    else if (layout->job->f32)
        high ? add_stretch(layout, block, out, begin, end, first, strips, (Kind){true, true, 6})
             : add_stretch(layout, block, out, begin, end, first, strips, (Kind){true, true, 4});
    else if (!weighted)
        high ? add_stretch(layout, block, out, begin, end, first, strips, (Kind){false, false, 6})
             : add_stretch(layout, block, out, begin, end, first, strips, (Kind){false, false, 4});
    else
        high ? add_stretch(layout, block, out, begin, end, first, strips, (Kind){false, true, 6})
             : add_stretch(layout, block, out, begin, end, first, strips, (Kind){false, true, 4});
}

/* How the work is cut. */
typedef struct Plan {
    MomentsJob job;
    Layout layout;
    size_t strips, together /* in a task */, groups, stretch, stretches;
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
    plan.together = plan.job.f32 ? TOGETHER : TOGETHER / 2;
    plan.groups = divide_up(plan.strips, plan.together);
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
        _Alignas(64) Block block;
#pragma omp for schedule(dynamic) collapse(2)
        for (size_t s = 0; s < plan.stretches; s++)
            for (size_t g = 0; g < plan.groups; g++) {
                const size_t t = g * plan.together, begin = s * plan.stretch, end = begin + plan.stretch;
                stretch(&plan.layout, &block, &parts[s * plan.strips + t], begin, end < plan.layout.rows ? end : plan.layout.rows,
                        t * LANES, plan.strips - t < plan.together ? plan.strips - t : plan.together);
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
    .summary = "one read: blocks of 256 x 64 about the mean of the one before, joined by Pebay's merge with means of twice the "
               "digits; all cores",
    .origin = "Pebay, Terriberry, Kolla and Bennett 2016; Chan, Golub and LeVeque 1983",
    .tunables = TUNABLES,
    .accumulates = ACCUMULATES,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
