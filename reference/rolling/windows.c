/* See windows.h. */
#include "windows.h"

#include <math.h>
#include <stdlib.h>

/* ---- What is known of a tile's heads and tails, and of two sets of elements together. */

/* Neighbouring outputs j = 0, 1, ..: from tail[from + j from_step] over what is between to head[to + j to_step]. The steps are 1,
 * or 0 at an end of the array. */
typedef struct Run {
    const WindowRow *tail, *head;
    size_t from, to, from_step, to_step, count;
    Part between;
} Run;

typedef struct Kind {
    /* Heads of `count` elements or, back, tails. */
    void (*scan)(const double *x, size_t count, bool back, WindowRow *out);
    Part (*merge)(Part left, Part right);
    /* Outputs out[at + j]. */
    void (*join)(const Run *run, WindowRow *out, size_t at);
    double nan_stand_in; /* for elements that are not finite or, of extremes, NaN */
} Kind;

/* The k-th element that a scan comes to. */
static inline size_t place(size_t k, size_t count, bool back) {
    return back ? count - 1 - k : k;
}

/* Storing a long double takes longer than adding it, so this is done once for each. */
static inline void scan_sums(const double *x, size_t count, bool back, Part *out) {
    long double a = 0, b = 0, high = 0, low = 0;
    for (size_t k = 0; k < count; k++) {
        const size_t at = place(k, count, back);
        a += x[at];
        b += fabs(x[at]);
        if (a > high) high = a;
        if (a < low) low = a;
        /* Back: from sums up to the end to sums from the beginning. */
        out[at] = (Part){(double)(k + 1), a, b, back ? a - low : high, back ? a - high : low};
    }
}

static void scan_range(const double *x, size_t count, bool back, WindowRow *out) {
    if (back)
        scan_sums(x, count, true, out->part);
    else
        scan_sums(x, count, false, out->part);
}

static inline Part merge_range(Part left, Part right) {
    const long double high = left.a + right.high, low = left.a + right.low;
    return (Part){left.n + right.n, left.a + right.a, left.b + right.b, high > left.high ? high : left.high,
                  low < left.low ? low : left.low};
}

static void scan_size(const double *x, size_t count, bool back, WindowRow *out) {
    long double sum = 0;
    for (size_t k = 0; k < count; k++) {
        const size_t at = place(k, count, back);
        out->number[at] = sum += fabs(x[at]);
    }
}

/* Sums of d = x - c and of d^2, with c = the first x. Because c is itself an element, sum (x - mean)^2 >= (c - mean)^2, so that
 * sum d^2 <= (k + 1) sum (x - mean)^2: the subtraction costs at most a factor of 4097. */
static void scan_moments(const double *x, size_t count, bool back, WindowRow *out) {
    const long double c = x[place(0, count, back)];
    long double sum = 0, squares = 0;
    for (size_t k = 0; k < count; k++) {
        const size_t at = place(k, count, back);
        const long double d = x[at] - c;
        const double n = (double)(k + 1);
        sum += d;
        squares += d * d;
        const long double spread = squares - sum * (sum / n);
        out->part[at] = (Part){.n = n, .a = c + sum / n, .b = spread > 0 ? spread : 0};
    }
}

/* Chan, Golub, LeVeque (1979): no cancellation. */
static inline Part merge_moments(Part left, Part right) {
    if (left.n == 0) return right;
    if (right.n == 0) return left;
    const double n = left.n + right.n;
    const long double share = (long double)right.n / n, delta = right.a - left.a;
    return (Part){.n = n, .a = left.a + delta * share, .b = left.b + right.b + delta * delta * share * left.n};
}

static void scan_square(const double *x, size_t count, bool back, WindowRow *out) {
    long double sum = 0;
    for (size_t k = 0; k < count; k++) {
        const size_t at = place(k, count, back);
        out->number[at] = sum += (long double)x[at] * x[at];
    }
}

static Part merge_numbers(Part left, Part right) {
    return (Part){.n = left.n + right.n, .b = left.b + right.b};
}

/* Minima and maxima; a NaN is none. */
#define DEFINE_EXTREME(name, better, worst)                                                                                        \
    static inline double pick_##name(double left, double right) {                                                                  \
        return right better left ? right : left;                                                                                   \
    }                                                                                                                              \
    static void scan_##name(const double *x, size_t count, bool back, WindowRow *out) {                                            \
        double extreme = x[place(0, count, back)];                                                                                 \
        for (size_t k = 0; k < count; k++) {                                                                                       \
            const size_t at = place(k, count, back);                                                                               \
            out->extreme[at] = extreme = pick_##name(extreme, x[at]);                                                              \
        }                                                                                                                          \
    }                                                                                                                              \
    static Part merge_##name(Part left, Part right) {                                                                              \
        if (left.n == 0) return right;                                                                                             \
        if (right.n == 0) return left;                                                                                             \
        return (Part){.n = left.n + right.n, .a = right.a better left.a ? right.a : left.a};                                       \
    }                                                                                                                              \
    static void join_##name(const Run *run, WindowRow *out, size_t at) {                                                           \
        const double between = run->between.n > 0 ? (double)run->between.a : worst;                                                \
        const double *tail = run->tail->extreme + run->from, *head = run->head->extreme + run->to;                                 \
        for (size_t j = 0; j < run->count; j++)                                                                                    \
            out->extreme[at + j] = pick_##name(pick_##name(tail[j * run->from_step], between), head[j * run->to_step]);            \
    }
DEFINE_EXTREME(min, <, INFINITY)
DEFINE_EXTREME(max, >, -INFINITY)

static void join_range(const Run *run, WindowRow *out, size_t at) {
    for (size_t j = 0; j < run->count; j++)
        out->part[at + j] = merge_range(merge_range(run->tail->part[run->from + j * run->from_step], run->between),
                                        run->head->part[run->to + j * run->to_step]);
}

static void join_moments(const Run *run, WindowRow *out, size_t at) {
    for (size_t j = 0; j < run->count; j++)
        out->part[at + j] = merge_moments(merge_moments(run->tail->part[run->from + j * run->from_step], run->between),
                                          run->head->part[run->to + j * run->to_step]);
}

static void join_numbers(const Run *run, WindowRow *out, size_t at) {
    const long double between = run->between.b;
    for (size_t j = 0; j < run->count; j++)
        out->number[at + j] =
            run->tail->number[run->from + j * run->from_step] + between + run->head->number[run->to + j * run->to_step];
}

static const Kind KINDS[] = {
    [WINDOW_RANGE] = {scan_range, merge_range, join_range, 0},
    [WINDOW_SIZE] = {scan_size, merge_numbers, join_numbers, 0},
    [WINDOW_MOMENTS] = {scan_moments, merge_moments, join_moments, 0},
    [WINDOW_SQUARE] = {scan_square, merge_numbers, join_numbers, 0},
    [WINDOW_MIN] = {scan_min, merge_min, join_min, INFINITY},
    [WINDOW_MAX] = {scan_max, merge_max, join_max, -INFINITY},
};

/* ---- Windows of any kind. */

static bool is_extreme(const WindowPlan *plan) {
    return plan->kind == WINDOW_MIN || plan->kind == WINDOW_MAX;
}

static bool is_number(const WindowPlan *plan) {
    return plan->kind == WINDOW_SIZE || plan->kind == WINDOW_SQUARE;
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Elements of a tile as its kind counts them; returns how many there are. */
static size_t load_tile(const WindowPlan *plan, size_t tile, double *x) {
    const size_t first = tile << plan->tile_bits;
    const size_t count = smaller((size_t)1 << plan->tile_bits, plan->input->n - first);
    const double stand_in = KINDS[plan->kind].nan_stand_in;
    for (size_t k = 0; k < count; k++) x[k] = window_element(plan->input, first + k);
    if (is_extreme(plan))
        for (size_t k = 0; k < count; k++) x[k] = isnan(x[k]) ? stand_in : x[k];
    else
        for (size_t k = 0; k < count; k++) x[k] = isfinite(x[k]) ? x[k] : stand_in;
    return count;
}

static size_t scan_tile(const WindowPlan *plan, size_t tile, bool back, double *x, WindowRow *out) {
    const size_t count = load_tile(plan, tile, x);
    KINDS[plan->kind].scan(x, count, back, out);
    return count;
}

/* Element k of a row, which stands for n elements. */
static Part part_of(const WindowPlan *plan, const WindowRow *row, size_t k, double n) {
    if (is_number(plan)) return (Part){.n = n, .b = row->number[k]};
    return is_extreme(plan) ? (Part){.n = n, .a = row->extreme[k]} : row->part[k];
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
        for (size_t j = 0; j < nodes; j++) {
            if (!scratch) continue;
            const size_t count = scan_tile(plan, j, false, scratch->x, &scratch->head);
            plan->tree[0][j] = part_of(plan, &scratch->head, count - 1, (double)count);
        }
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
static Part middle(const WindowPlan *plan, size_t from, size_t to, double *x, WindowRow *spare) {
    Part left = {0}, right = {0};
    if (from >= to) return left;
    if (plan->levels == 0) {
        const size_t count = scan_tile(plan, from, true, x, spare);
        return part_of(plan, spare, 0, (double)count);
    }
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

static int64_t earliest(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Outputs that are the head or the tail of one tile. */
static void copy_outputs(const WindowPlan *plan, const WindowRow *row, size_t k, size_t step, size_t count, WindowRow *out,
                         size_t at) {
    for (size_t j = 0; j < count; j++, k += step)
        if (is_number(plan))
            out->number[at + j] = row->number[k];
        else if (is_extreme(plan))
            out->extreme[at + j] = row->extreme[k];
        else
            out->part[at + j] = row->part[k];
}

void window_compute(const WindowPlan *plan, WindowScratch *scratch, size_t first, size_t count, WindowRow *out) {
    const int64_t last_index = (int64_t)plan->input->n - 1, tile = (int64_t)1 << plan->tile_bits;
    int64_t heads_of = -1, tails_of = -1;
    for (int64_t i = (int64_t)first, end = i + (int64_t)count; i < end;) {
        /* As many outputs as start in one tile and end in one, clipped at both or not. */
        const int64_t stop = i + plan->shift, start = stop - plan->length + 1;
        const bool starts_before = start < 0, stops_after = stop >= last_index;
        const int64_t stop_tile = (stops_after ? last_index : stop) >> plan->tile_bits;
        const int64_t start_tile = (starts_before ? 0 : start) >> plan->tile_bits;
        const int64_t until_stop = stops_after ? end - i : earliest((stop_tile + 1) * tile, last_index) - stop;
        const int64_t until_start = starts_before ? -start : (start_tile + 1) * tile - start;
        /* A window within one tile begins where the tile begins or ends where it ends, because tile <= length. */
        const bool alone = start_tile == stop_tile, is_head = starts_before || start == start_tile * tile;
        const int64_t steps = alone && is_head && !starts_before ? 1 : earliest(end - i, earliest(until_stop, until_start));

        /* Before the tails: without a tree, the middle uses their buffer. */
        if (start_tile + 1 < stop_tile && plan->levels == 0) tails_of = -1;
        const Run run = {.tail = &scratch->tail,
                         .head = &scratch->head,
                         .from = (size_t)(starts_before ? 0 : start - start_tile * tile),
                         .to = (size_t)((stops_after ? last_index : stop) - stop_tile * tile),
                         .from_step = !starts_before,
                         .to_step = !stops_after,
                         .count = (size_t)steps,
                         .between = middle(plan, (size_t)start_tile + 1, (size_t)stop_tile, scratch->x, &scratch->tail)};
        if (stop_tile != heads_of) scan_tile(plan, (size_t)stop_tile, false, scratch->x, &scratch->head);
        if (start_tile != tails_of) scan_tile(plan, (size_t)start_tile, true, scratch->x, &scratch->tail);
        heads_of = stop_tile;
        tails_of = start_tile;
        const size_t at = (size_t)(i - (int64_t)first);
        if (!alone)
            KINDS[plan->kind].join(&run, out, at);
        else if (is_head)
            copy_outputs(plan, &scratch->head, run.to, run.to_step, run.count, out, at);
        else
            copy_outputs(plan, &scratch->tail, run.from, run.from_step, run.count, out, at);
        i += steps;
    }
}
