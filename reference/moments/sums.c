/* See moments.h. */
#include "moments.h"

#include "reference/vector.h"

#include <float.h>
#include <stdlib.h>

enum {
    LANES = 128,  /* columns of a strip */
    CHUNK = 4096, /* rows of a chunk: a cascaded sum of k elements errs by (k 2^-53)^2 = 2^-82 of the sum of their magnitudes */
    NARROW = 64   /* a matrix of fewer columns is folded */
};

/* The matrix as it is read: `lanes` folded columns; the last of `rows` may hold only `tail` of them. */
typedef struct Layout {
    const MomentsInput *input;
    size_t fold, lanes, rows, tail, strips, chunks;
} Layout;

/* What one chunk knows of one lane. */
typedef struct FirstPart {
    Dd sum;
    double sum_abs, min, max, nans;
} FirstPart;

typedef struct SecondPart {
    Dd power[MOMENTS_POWERS + 1];
} SecondPart;

/* A strip on its way through a chunk. */
typedef struct FirstWork {
    double weight[LANES], scale[LANES], sum[LANES], error[LANES], sum_abs[LANES], min[LANES], max[LANES], nans[LANES];
} FirstWork;

typedef struct SecondWork {
    double weight[LANES], scale[LANES], shift[LANES];
    double sum[MOMENTS_POWERS + 1][LANES], error[MOMENTS_POWERS + 1][LANES];
} SecondWork;

#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE double element(const void *x, size_t i, bool f32) {
    return f32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

ALWAYS_INLINE void cascade(double *sum, double *error, Dd value) {
    const Dd s = dd_two_sum(*sum, value.hi);
    *sum = s.hi;
    *error += s.lo + value.lo;
}

ALWAYS_INLINE void first_row(FirstWork *restrict work, const void *restrict x, size_t at, size_t count, bool f32, bool weighted) {
    for (size_t l = 0; l < count; l++) {
        const double v = element(x, at + l, f32), scaled = v * work->scale[l];
        const double finite = fabs(v) <= DBL_MAX ? scaled : 0;
        work->min[l] = v < work->min[l] ? v : work->min[l];
        work->max[l] = v > work->max[l] ? v : work->max[l];
        work->nans[l] += v == v ? 0 : 1;
        const Dd value = weighted ? dd_two_prod(finite, work->weight[l]) : dd_from(finite);
        work->sum_abs[l] += fabs(value.hi);
        cascade(&work->sum[l], &work->error[l], value);
    }
}

/* d = x - shift exactly, its powers to a few units of 2^-106. */
ALWAYS_INLINE void second_row(SecondWork *restrict work, const void *restrict x, size_t at, size_t count, bool f32, bool weighted,
                              int powers) {
    for (size_t l = 0; l < count; l++) {
        const double v = element(x, at + l, f32), scaled = v * work->scale[l];
        Dd d[MOMENTS_POWERS + 1];
        d[1] = dd_two_sum(fabs(v) <= DBL_MAX ? scaled : work->shift[l], -work->shift[l]);
        for (int p = 2; p <= powers; p++) {
            const Dd a = d[p - p / 2], b = d[p / 2], product = dd_two_prod(a.hi, b.hi);
            d[p] = (Dd){product.hi, product.lo + (a.hi * b.lo + a.lo * b.hi)};
        }
        for (int p = 1; p <= powers; p++) {
            Dd value = d[p];
            if (weighted) {
                value = dd_two_prod(d[p].hi, work->weight[l]);
                value.lo += d[p].lo * work->weight[l];
            }
            cascade(&work->sum[p][l], &work->error[p][l], value);
        }
    }
}

/* Rows begin .. end - 1 of a strip; the layout's last row may be shorter. */
#define DEFINE_ROWS(name, Work, row, ...)                                                                                          \
    static void name(const Layout *layout, Work *work, size_t begin, size_t end, size_t first, size_t count) {                     \
        const MomentsInput *input = layout->input;                                                                                 \
        for (size_t r = begin; r < end; r++) {                                                                                     \
            const size_t lanes = r + 1 < layout->rows ? layout->lanes : layout->tail;                                              \
            const size_t present = first >= lanes ? 0 : lanes - first < count ? lanes - first : count;                             \
            if (input->weights)                                                                                                    \
                for (size_t l = 0; l < present; l++)                                                                               \
                    work->weight[l] =                                                                                              \
                        input->weight_scale * element(input->weights, r * layout->fold + (first + l) / input->cols, input->f32);   \
            if (present == LANES)                                                                                                  \
                row(work, input->x, r * layout->lanes + first, LANES, __VA_ARGS__);                                                \
            else                                                                                                                   \
                row(work, input->x, r * layout->lanes + first, present, __VA_ARGS__);                                              \
        }                                                                                                                          \
    }
DEFINE_ROWS(first_f64, FirstWork, first_row, false, false)
DEFINE_ROWS(first_f64_weighted, FirstWork, first_row, false, true)
DEFINE_ROWS(first_f32, FirstWork, first_row, true, false)
DEFINE_ROWS(first_f32_weighted, FirstWork, first_row, true, true)
DEFINE_ROWS(second_f64, SecondWork, second_row, false, false, 4)
DEFINE_ROWS(second_f64_weighted, SecondWork, second_row, false, true, 4)
DEFINE_ROWS(second_f32, SecondWork, second_row, true, false, 4)
DEFINE_ROWS(second_f32_weighted, SecondWork, second_row, true, true, 4)
DEFINE_ROWS(second_f64_6, SecondWork, second_row, false, false, 6)
DEFINE_ROWS(second_f64_weighted_6, SecondWork, second_row, false, true, 6)
DEFINE_ROWS(second_f32_6, SecondWork, second_row, true, false, 6)
DEFINE_ROWS(second_f32_weighted_6, SecondWork, second_row, true, true, 6)

typedef void (*FirstRows)(const Layout *layout, FirstWork *work, size_t begin, size_t end, size_t first, size_t count);
typedef void (*SecondRows)(const Layout *layout, SecondWork *work, size_t begin, size_t end, size_t first, size_t count);

/* [f32?][weighted?] and [six powers?] */
static const FirstRows FIRST[2][2] = {{first_f64, first_f64_weighted}, {first_f32, first_f32_weighted}};
static const SecondRows SECOND[2][2][2] = {{{second_f64, second_f64_6}, {second_f64_weighted, second_f64_weighted_6}},
                                           {{second_f32, second_f32_6}, {second_f32_weighted, second_f32_weighted_6}}};

static Layout layout_of(const MomentsInput *input) {
    Layout self = {.input = input, .fold = input->cols < NARROW ? NARROW / input->cols : 1};
    if (self.fold > input->rows) self.fold = input->rows;
    self.lanes = input->cols * self.fold;
    self.rows = (input->rows + self.fold - 1) / self.fold;
    self.tail = input->rows % self.fold ? input->rows % self.fold * input->cols : self.lanes;
    self.strips = (self.lanes + LANES - 1) / LANES;
    self.chunks = (self.rows + CHUNK - 1) / CHUNK;
    return self;
}

/* parts[chunk * lanes + lane]; the sums are of x times the columns' scale. */
static void first_pass(const Layout *layout, const MomentsColumn *columns, FirstPart *parts) {
    const MomentsInput *input = layout->input;
    const FirstRows rows = FIRST[input->f32][input->weights != NULL];
#pragma omp parallel for schedule(dynamic) collapse(2)
    for (size_t c = 0; c < layout->chunks; c++)
        for (size_t s = 0; s < layout->strips; s++) {
            const size_t first = s * LANES, count = fewer(LANES, layout->lanes - first);
            FirstWork work = {0};
            for (size_t l = 0; l < count; l++) {
                work.scale[l] = columns[(first + l) % input->cols].scale;
                work.min[l] = INFINITY;
                work.max[l] = -INFINITY;
            }
            rows(layout, &work, c * CHUNK, fewer((c + 1) * CHUNK, layout->rows), first, count);
            for (size_t l = 0; l < count; l++)
                parts[c * layout->lanes + first + l] = (FirstPart){dd_fast_two_sum(work.sum[l], work.error[l]), work.sum_abs[l],
                                                                   work.min[l], work.max[l], work.nans[l]};
        }
}

/* Likewise: sums of the powers of scale x - shift. */
static void second_pass(const Layout *layout, const MomentsColumn *columns, SecondPart *parts) {
    const MomentsInput *input = layout->input;
    const SecondRows rows = SECOND[input->f32][input->weights != NULL][input->powers > 4];
#pragma omp parallel for schedule(dynamic) collapse(2)
    for (size_t c = 0; c < layout->chunks; c++)
        for (size_t s = 0; s < layout->strips; s++) {
            const size_t first = s * LANES, count = fewer(LANES, layout->lanes - first);
            SecondWork work = {0};
            for (size_t l = 0; l < count; l++) {
                const MomentsColumn *column = &columns[(first + l) % input->cols];
                work.scale[l] = column->scale;
                work.shift[l] = column->shift;
            }
            rows(layout, &work, c * CHUNK, fewer((c + 1) * CHUNK, layout->rows), first, count);
            for (size_t l = 0; l < count; l++)
                for (int p = 1; p <= input->powers; p++)
                    parts[c * layout->lanes + first + l].power[p] = dd_fast_two_sum(work.sum[p][l], work.error[p][l]);
        }
}

/* Merges what the chunks and the folded lanes know of each column. */
static void first_merge(const Layout *layout, const FirstPart *parts, Dd total, MomentsColumn *columns) {
    const size_t cols = layout->input->cols;
#pragma omp parallel for schedule(static)
    for (size_t c = 0; c < cols; c++) {
        FirstPart all = {{0, 0}, 0, INFINITY, -INFINITY, 0};
        for (size_t k = c; k < layout->chunks * layout->lanes; k += cols) {
            all.sum = dd_add(all.sum, parts[k].sum);
            all.sum_abs += parts[k].sum_abs;
            all.min = parts[k].min < all.min ? parts[k].min : all.min;
            all.max = parts[k].max > all.max ? parts[k].max : all.max;
            all.nans += parts[k].nans;
        }
        MomentsColumn *column = &columns[c];
        column->min = all.min;
        column->max = all.max;
        column->nan = all.nans > 0;
        column->mean_abs = all.sum_abs / total.hi;
        column->shift = dd_divide(all.sum, total).hi;
    }
}

static void second_merge(const Layout *layout, const SecondPart *parts, Dd total, MomentsColumn *columns) {
    const size_t cols = layout->input->cols;
#pragma omp parallel for schedule(static)
    for (size_t c = 0; c < cols; c++) {
        SecondPart all = {0};
        for (size_t k = c; k < layout->chunks * layout->lanes; k += cols)
            for (int p = 1; p <= layout->input->powers; p++) all.power[p] = dd_add(all.power[p], parts[k].power[p]);
        for (int p = 2; p <= layout->input->powers; p++) columns[c].power[p] = dd_divide(all.power[p], total);
        columns[c].offset = dd_divide(all.power[1], total);
    }
}

/* Brings the largest finite magnitude to [1, 2), so that neither sums nor sixth powers leave the range of double. */
static double scale_of(const MomentsColumn *column) {
    const double low = fabs(column->min), high = fabs(column->max);
    const double most = !(low <= DBL_MAX) ? high : high <= DBL_MAX && high > low ? high : low;
    if (!(most > 0) || !(most <= DBL_MAX)) return 1;
    const int exponent = ilogb(most);
    return ldexp(1, exponent > 1000 ? -1000 : exponent < -1000 ? 1000 : -exponent);
}

Status moments_sums(const MomentsInput *input, Dd total, MomentsColumn *columns) {
    const Layout layout = layout_of(input);
    const size_t parts = layout.chunks * layout.lanes;
    void *memory = malloc(parts * (sizeof(FirstPart) > sizeof(SecondPart) ? sizeof(FirstPart) : sizeof(SecondPart)));
    if (!memory) return status_fail(STATUS_MEMORY, "moments reference: no memory for the sums of %zu chunks", parts);
    for (size_t c = 0; c < input->cols; c++) columns[c] = (MomentsColumn){.scale = 1};
    first_pass(&layout, columns, memory);
    first_merge(&layout, memory, total, columns);
    bool again = false; /* sums of unscaled elements are exact enough but for extremes */
    for (size_t c = 0; c < input->cols; c++) {
        const double scale = scale_of(&columns[c]);
        again = again || !(scale >= 0x1p-800 && scale <= 0x1p700);
        columns[c].scale = scale;
        columns[c].shift *= scale;
        columns[c].mean_abs *= scale;
    }
    if (again) {
        first_pass(&layout, columns, memory);
        first_merge(&layout, memory, total, columns);
    }
    second_pass(&layout, columns, memory);
    second_merge(&layout, memory, total, columns);
    free(memory);
    return STATUS_OK;
}
