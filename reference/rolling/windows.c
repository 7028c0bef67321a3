/* See windows.h. */
#include "kinds.h"

#include <math.h>
#include <stdlib.h>

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
    const double stand_in = WINDOW_KINDS[plan->kind].nan_stand_in;
    for (size_t k = 0; k < count; k++) x[k] = window_element(plan->input, first + k);
    if (is_extreme(plan))
        for (size_t k = 0; k < count; k++) x[k] = isnan(x[k]) ? stand_in : x[k];
    else
        for (size_t k = 0; k < count; k++) x[k] = isfinite(x[k]) ? x[k] : stand_in;
    return count;
}

static size_t scan_tile(const WindowPlan *plan, size_t tile, bool back, double *x, WindowRow *out) {
    const size_t count = load_tile(plan, tile, x);
    WINDOW_KINDS[plan->kind].scan(x, count, back, out);
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
            plan->tree[level][j] =
                2 * j + 1 < below ? WINDOW_KINDS[plan->kind].merge(plan->tree[level - 1][2 * j], plan->tree[level - 1][2 * j + 1])
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
        if (from & 1) left = WINDOW_KINDS[plan->kind].merge(left, plan->tree[level][from++]);
        if (to & 1) right = WINDOW_KINDS[plan->kind].merge(plan->tree[level][--to], right);
    }
    return WINDOW_KINDS[plan->kind].merge(left, right);
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
        const WindowRun run = {.tail = &scratch->tail,
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
            WINDOW_KINDS[plan->kind].join(&run, out, at);
        else if (is_head)
            copy_outputs(plan, &scratch->head, run.to, run.to_step, run.count, out, at);
        else
            copy_outputs(plan, &scratch->tail, run.from, run.from_step, run.count, out, at);
        i += steps;
    }
}
