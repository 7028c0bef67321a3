/* Idea: the matrix in blocks of 64 rows and 64 columns. A block is read once, converted, summed; its means are subtracted and the
 *   powers summed while it lies in the cache, corrected for the means' rounding. Blocks are joined by Pebay's merge, whose means
 * are pairs of doubles. Stretches of rows and strips of columns go to all cores. A matrix of few columns is folded into one of
 * more.
 * Traffic: x once.
 * Rounding: double for either dtype. Chains of 64 rows, 256 blocks and n / 16384 stretches. A mean is known to twice a double's
 *   digits, so that mean / sigma does not matter: the op's own bound.
 * Limits: powers of deviations beyond the range of double.
 * Origin: Pebay, Terriberry, Kolla and Bennett 2016; Chan, Golub and LeVeque 1983; Dekker 1971 for the pairs. */
#include "common/moments/blocks.h"

#include <omp.h>

enum { STRETCH = 16384 /* rows, at most */, TOGETHER = 8 /* strips of a task */, TASKS = 8 /* per thread, at least */ };

static const ParamSpec TUNABLES[] = {
    {"threads", "0: as many as OpenMP gives", PARAM_INT, "0", 0, 1024, NULL},
    {0},
};

/* How the work is cut. */
typedef struct Plan {
    MomentsJob job;
    Layout layout;
    size_t strips, groups, stretch, stretches;
    int threads;
} Plan;

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

static size_t scratch_bytes(const VariantArgs *args) {
    const Plan plan = plan_of(args);
    return plan.stretches * plan.strips * sizeof(Part);
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

/* Rows begin .. end - 1 of `strips` strips beside each other, so that what is read lies beside each other too. */
ALWAYS_INLINE void add_stretch(const Layout *layout, Block *block, Part *out, size_t begin, size_t end, size_t first, size_t strips,
                               bool f32, bool weighted, int powers) {
    const bool short_row = end == layout->rows && layout->tail < layout->lanes; /* a block of its own; folded, so one strip */
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

#define DEFINE_STRETCH(name, f32, weighted, powers)                                                                                \
    static void name(const Layout *layout, Block *block, Part *out, size_t begin, size_t end, size_t first, size_t strips) {       \
        add_stretch(layout, block, out, begin, end, first, strips, f32, weighted, powers);                                         \
    }
DEFINE_STRETCH(f64_4, false, false, 4)
DEFINE_STRETCH(f64_6, false, false, 6)
DEFINE_STRETCH(f64_weighted_4, false, true, 4)
DEFINE_STRETCH(f64_weighted_6, false, true, 6)
DEFINE_STRETCH(f32_4, true, false, 4)
DEFINE_STRETCH(f32_6, true, false, 6)
DEFINE_STRETCH(f32_weighted_4, true, true, 4)
DEFINE_STRETCH(f32_weighted_6, true, true, 6)

typedef void (*Stretch)(const Layout *layout, Block *block, Part *out, size_t begin, size_t end, size_t first, size_t strips);
/* [f32?][weighted?][six powers?] */
static const Stretch STRETCHES[2][2][2] = {{{f64_4, f64_6}, {f64_weighted_4, f64_weighted_6}},
                                           {{f32_4, f32_6}, {f32_weighted_4, f32_weighted_6}}};

/* Joins a strip's stretches into the first of them. A stretch that holds nothing but a short row lacks the lanes behind its tail.
 */
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
    MomentsColumn column = {part->mean[l] + part->mean_low[l], part->min[l], part->max[l], {0}, part->nans[l] > 0};
    for (int p = 2; p <= plan->job.powers; p++) column.central[p] = part->sum[p][l] / part->weight[l];
    moments_finish(&plan->job, c, &column);
}

static Status run(const VariantArgs *args) {
    Plan plan = plan_of(args);
    plan.layout.job = &plan.job;
    if (plan.job.rows == 0) {
        for (size_t c = 0; c < plan.job.cols; c++) moments_finish(&plan.job, c, &(MomentsColumn){0});
        return STATUS_OK;
    }
    Part *parts = args->scratch;
    const Stretch stretch = STRETCHES[plan.job.f32][plan.job.weights != NULL][plan.job.powers > 4];
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

RUNGS_VARIANT(moments, cpu_best) = {
    .backend = BACKEND_CPU,
    .summary =
        "one read: blocks of 64 x 64 about their own means, joined by Pebay's merge with means of twice the digits; all cores",
    .origin = "Pebay, Terriberry, Kolla and Bennett 2016; Chan, Golub and LeVeque 1983",
    .tunables = TUNABLES,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
