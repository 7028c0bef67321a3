/* See windows.h. */
#include "windows.h"

#include <math.h>
#include <stdlib.h>

typedef struct Kind {
    void (*scan)(const double *x, size_t count, Part *out);      /* out[k]: x[0..k] */
    void (*scan_back)(const double *x, size_t count, Part *out); /* the same of elements in reverse order */
    Part (*merge)(Part left, Part right);
    double nan_stand_in;
} Kind;

/* Storing a long double takes longer than adding it, so this is done once for each. */
static inline void scan_sums(const double *x, size_t count, bool back, Part *out) {
    long double a = 0, b = 0, high = 0, low = 0;
    for (size_t k = 0; k < count; k++) {
        a += x[k];
        b += fabs(x[k]);
        if (a > high) high = a;
        if (a < low) low = a;
        /* Back: from sums up to the end to sums from the beginning. */
        out[k] = (Part){(double)(k + 1), a, b, back ? a - low : high, back ? a - high : low};
    }
}

static void scan_range(const double *x, size_t count, Part *out) {
    scan_sums(x, count, false, out);
}

static void scan_range_back(const double *x, size_t count, Part *out) {
    scan_sums(x, count, true, out);
}

static inline Part merge_range(Part left, Part right) {
    const long double high = left.a + right.high, low = left.a + right.low;
    return (Part){left.n + right.n, left.a + right.a, left.b + right.b, high > left.high ? high : left.high,
                  low < left.low ? low : left.low};
}

/* Sums of d = x - c and of d^2, with c = x[0]. Because c is itself an element, sum (x - mean)^2 >= (c - mean)^2, so that
 * sum d^2 <= (k + 1) sum (x - mean)^2: the subtraction costs at most a factor of 4097. */
static void scan_moments(const double *x, size_t count, Part *out) {
    const long double c = x[0];
    long double sum = 0, squares = 0;
    for (size_t k = 0; k < count; k++) {
        const long double d = x[k] - c;
        const double n = (double)(k + 1);
        sum += d;
        squares += d * d;
        const long double spread = squares - sum * (sum / n);
        out[k] = (Part){.n = n, .a = c + sum / n, .b = spread > 0 ? spread : 0};
    }
}

/* Chan, Golub, LeVeque (1979): no cancellation. */
static Part merge_moments(Part left, Part right) {
    if (left.n == 0) return right;
    if (right.n == 0) return left;
    const double n = left.n + right.n;
    const long double share = (long double)right.n / n, delta = right.a - left.a;
    return (Part){.n = n, .a = left.a + delta * share, .b = left.b + right.b + delta * delta * share * left.n};
}

static void scan_square(const double *x, size_t count, Part *out) {
    long double sum = 0;
    for (size_t k = 0; k < count; k++) out[k] = (Part){.n = (double)(k + 1), .b = sum += (long double)x[k] * x[k]};
}

static Part merge_square(Part left, Part right) {
    return (Part){.n = left.n + right.n, .b = left.b + right.b};
}

static void scan_min(const double *x, size_t count, Part *out) {
    double least = x[0];
    for (size_t k = 0; k < count; k++) out[k] = (Part){.n = (double)(k + 1), .a = least = x[k] < least ? x[k] : least};
}

static void scan_max(const double *x, size_t count, Part *out) {
    double most = x[0];
    for (size_t k = 0; k < count; k++) out[k] = (Part){.n = (double)(k + 1), .a = most = x[k] > most ? x[k] : most};
}

static Part merge_min(Part left, Part right) {
    if (left.n == 0) return right;
    if (right.n == 0) return left;
    return (Part){.n = left.n + right.n, .a = right.a < left.a ? right.a : left.a};
}

static Part merge_max(Part left, Part right) {
    if (left.n == 0) return right;
    if (right.n == 0) return left;
    return (Part){.n = left.n + right.n, .a = right.a > left.a ? right.a : left.a};
}

static const Kind KINDS[] = {
    [WINDOW_RANGE] = {scan_range, scan_range_back, merge_range, 0},
    [WINDOW_MOMENTS] = {scan_moments, scan_moments, merge_moments, 0},
    [WINDOW_SQUARE] = {scan_square, scan_square, merge_square, 0},
    [WINDOW_MIN] = {scan_min, scan_min, merge_min, INFINITY},
    [WINDOW_MAX] = {scan_max, scan_max, merge_max, -INFINITY},
};

double window_element(const WindowInput *input, size_t i) {
    return input->f32 ? (double)((const float *)input->data)[i] : ((const double *)input->data)[i];
}

static double element(const WindowPlan *plan, size_t i) {
    const double x = window_element(plan->input, i);
    if (plan->kind == WINDOW_MIN || plan->kind == WINDOW_MAX) return isnan(x) ? KINDS[plan->kind].nan_stand_in : x;
    return isfinite(x) ? x : 0;
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Heads of a tile: out[k] holds its elements 0..k. Returns how many the tile has. */
static size_t scan_heads(const WindowPlan *plan, size_t tile, double *x, Part *out) {
    const size_t first = tile << plan->tile_bits;
    const size_t count = smaller((size_t)1 << plan->tile_bits, plan->input->n - first);
    for (size_t k = 0; k < count; k++) x[k] = element(plan, first + k);
    KINDS[plan->kind].scan(x, count, out);
    return count;
}

/* Tails of a tile, scanned from its end: out[k] holds its last k + 1 elements. */
static size_t scan_tails(const WindowPlan *plan, size_t tile, double *x, Part *out) {
    const size_t first = tile << plan->tile_bits;
    const size_t count = smaller((size_t)1 << plan->tile_bits, plan->input->n - first);
    for (size_t k = 0; k < count; k++) x[k] = element(plan, first + count - 1 - k);
    KINDS[plan->kind].scan_back(x, count, out);
    return count;
}

static Status build_tree(WindowPlan *plan) {
    size_t nodes = ((plan->input->n - 1) >> plan->tile_bits) + 1;
    for (int level = 0; level < WINDOW_LEVELS; level++, nodes = (nodes + 1) / 2) {
        plan->tree[level] = malloc(nodes * sizeof(Part));
        if (!plan->tree[level]) return status_fail(STATUS_MEMORY, "rolling reference: no memory for %zu tiles", nodes);
        plan->levels = level + 1;
        if (nodes == 1) break;
    }
    nodes = ((plan->input->n - 1) >> plan->tile_bits) + 1;
    bool failed = false;
#pragma omp parallel
    {
        WindowScratch *scratch = malloc(sizeof *scratch);
        if (!scratch) {
#pragma omp atomic write
            failed = true;
        }
#pragma omp for schedule(static)
        for (size_t j = 0; j < nodes; j++)
            if (scratch) plan->tree[0][j] = scratch->head[scan_heads(plan, j, scratch->x, scratch->head) - 1];
        free(scratch);
    }
    if (failed) return status_fail(STATUS_MEMORY, "rolling reference: no memory for a thread's buffers");
    for (int level = 1; level < plan->levels; level++) {
        const size_t below = nodes;
        nodes = (nodes + 1) / 2;
        for (size_t j = 0; j < nodes; j++)
            plan->tree[level][j] = 2 * j + 1 < below
                                       ? KINDS[plan->kind].merge(plan->tree[level - 1][2 * j], plan->tree[level - 1][2 * j + 1])
                                       : plan->tree[level - 1][2 * j];
    }
    return STATUS_OK;
}

/* The whole tiles [from, to). Without a tree there is at most one, scanned into `x` and `spare`. */
static Part middle(const WindowPlan *plan, size_t from, size_t to, double *x, Part *spare) {
    Part left = {0}, right = {0};
    if (from >= to) return left;
    if (plan->levels == 0) return spare[scan_tails(plan, from, x, spare) - 1];
    for (int level = 0; from < to; level++, from /= 2, to /= 2) {
        if (from & 1) left = KINDS[plan->kind].merge(left, plan->tree[level][from++]);
        if (to & 1) right = KINDS[plan->kind].merge(plan->tree[level][--to], right);
    }
    return KINDS[plan->kind].merge(left, right);
}

Status window_plan(const WindowInput *input, WindowKind kind, size_t length, size_t shift, WindowPlan *out) {
    *out = (WindowPlan){.input = input, .kind = kind, .length = (int64_t)length, .shift = (int64_t)shift};
    while (((size_t)2 << out->tile_bits) <= smaller(length, WINDOW_BLOCK)) out->tile_bits++;
    if (input->n == 0 || length < 2 * (size_t)WINDOW_BLOCK) return STATUS_OK;
    const Status status = build_tree(out);
    if (status != STATUS_OK) window_plan_free(out);
    return status;
}

void window_plan_free(WindowPlan *plan) {
    for (int level = 0; level < WINDOW_LEVELS; level++) free(plan->tree[level]);
    *plan = (WindowPlan){0};
}

void window_compute(const WindowPlan *plan, WindowScratch *scratch, size_t first, size_t count, Part *out) {
    const int64_t last_index = (int64_t)plan->input->n - 1, tile = (int64_t)1 << plan->tile_bits;
    int64_t heads_of = -1, tails_of = -1, tails = 0;
    Part (*const merge)(Part, Part) = KINDS[plan->kind].merge;
    for (int64_t i = (int64_t)first, end = i + (int64_t)count; i < end;) {
        /* As many outputs as start in one tile and end in one. */
        const int64_t stop = i + plan->shift, start = stop - plan->length + 1;
        const int64_t stop_tile = (stop < last_index ? stop : last_index) >> plan->tile_bits;
        const int64_t start_tile = (start > 0 ? start : 0) >> plan->tile_bits;
        int64_t steps = end - i;
        if (stop < last_index && (stop_tile + 1) * tile - stop < steps) steps = (stop_tile + 1) * tile - stop;
        if ((start_tile + 1) * tile - start < steps) steps = (start_tile + 1) * tile - start;

        /* Before the tails: without a tree, the middle uses their buffer. */
        const bool alone = start_tile == stop_tile;
        if (start_tile + 1 < stop_tile && plan->levels == 0) tails_of = -1;
        const Part between = middle(plan, (size_t)start_tile + 1, (size_t)stop_tile, scratch->x, scratch->tail);
        if (stop_tile != heads_of) scan_heads(plan, (size_t)stop_tile, scratch->x, scratch->head);
        if (start_tile != tails_of) tails = (int64_t)scan_tails(plan, (size_t)start_tile, scratch->x, scratch->tail);
        heads_of = stop_tile;
        tails_of = start_tile;
        for (int64_t j = 0; j < steps; j++) {
            const int64_t from = (start + j > 0 ? start + j : 0) - start_tile * tile;
            const int64_t to = (stop + j < last_index ? stop + j : last_index) - stop_tile * tile;
            /* A window within one tile begins where the tile begins or ends where it ends, because tile <= length. */
            const Part *tail = alone && from == 0 ? &scratch->head[to] : &scratch->tail[tails - 1 - from];
            Part *whole = &out[i - (int64_t)first + j];
            if (alone)
                *whole = *tail;
            else if (plan->kind == WINDOW_RANGE)
                *whole = merge_range(merge_range(*tail, between), scratch->head[to]);
            else
                *whole = merge(between.n > 0 ? merge(*tail, between) : *tail, scratch->head[to]);
        }
        i += steps;
    }
}
