/* See recurrence.h. Rows of more than LONG elements are cut into blocks: a first pass composes each block's map of what is carried
 * into it, a short serial one carries, and a second pass runs every block from what it was given. */
#include "recurrence.h"

#include <stdlib.h>

enum { BLOCK = 1 << 16, LONG = 1 << 17 };

static double load(const void *data, bool f32, size_t i) {
    return f32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

static RecurrenceKind kind_of(double x) {
    if (isfinite(x)) return KIND_FINITE;
    return isnan(x) ? KIND_NAN : x > 0 ? KIND_PLUS_INF : KIND_MINUS_INF;
}

static RecurrenceKind kind_added(RecurrenceKind a, RecurrenceKind b) {
    if (a == KIND_FINITE) return b;
    return b == KIND_FINITE || a == b ? a : KIND_NAN;
}

static RecurrenceKind kind_scaled(RecurrenceKind kind, double factor) {
    if (kind == KIND_FINITE && isfinite(factor)) return KIND_FINITE;
    if (kind == KIND_FINITE || kind == KIND_NAN || factor == 0 || isnan(factor)) return KIND_NAN;
    if (factor > 0) return kind;
    return kind == KIND_PLUS_INF ? KIND_MINUS_INF : KIND_PLUS_INF;
}

RecurrenceStep recurrence_step(const RecurrenceLine *line, size_t position) {
    const size_t element = recurrence_element(line, position);
    const double x = load(line->x, line->f32, element);
    RecurrenceStep step = {.kind = line->skip_nan && isnan(x) ? KIND_FINITE : kind_of(x)};
    step.x = isfinite(x) ? x * line->scale : 0;
    const size_t edge = line->adjoint && position > 0 ? recurrence_element(line, position - 1) : element;
    step.cut = position == 0 || (line->reset && line->reset[edge]);
    if (step.cut) return step;
    step.factor = line->factors ? dd_from(load(line->factors, line->f32, edge)) : line->factor;
    step.sign = step.factor.hi;
    if (!isfinite(step.sign)) step.factor = dd_from(0);
    return step;
}

RecurrenceKind recurrence_kind(const RecurrenceStep *step, RecurrenceKind carried) {
    return step->cut ? step->kind : kind_added(kind_scaled(carried, step->sign), step->kind);
}

void recurrence_advance(RecurrenceSum *sum, const RecurrenceStep *step, double limit) {
    const double factor = fabs(step->factor.hi);
    sum->kind = recurrence_kind(step, sum->kind);
    if (factor == 0) *sum = (RecurrenceSum){.kind = sum->kind};     /* 0 times a magnitude that has overflown */
    const double plain = sum->value.hi * step->factor.hi + step->x; /* has a sign where double-double overflows */
    sum->value = dd_add_double(dd_multiply(sum->value, step->factor), step->x);
    sum->travelled = factor * (sum->travelled + sum->magnitude);
    sum->carried = factor * sum->magnitude;
    sum->magnitude = fabs(step->x) + sum->carried;
    sum->weight = (sum->magnitude > 0 ? RECURRENCE_WEIGHT_UNIT : 0) + factor * sum->weight;
    sum->most = sum->magnitude > sum->most ? sum->magnitude : sum->most;
    if (!(fabs(sum->value.hi) < limit)) {
        if (sum->kind == KIND_FINITE) sum->kind = plain > 0 ? KIND_PLUS_INF : KIND_MINUS_INF;
        *sum = (RecurrenceSum){.most = sum->most, .kind = sum->kind};
    }
}

/* What a run of elements does to what is carried into it. */
typedef struct Map {
    RecurrenceSum sum; /* from nothing */
    Dd factor;         /* of what is carried, and the absolute value of it, and its largest on the way */
    double size, most, length;
    int below; /* factor and size are to be multiplied by SMALL so many times: products may sink far and rise again */
    RecurrenceKinds kinds;
} Map;

#define SMALL 0x1p-30
enum { BELOW_MAX = 80 /* SMALL so many times takes any finite sum below any other that matters */ };

static Dd scaled(Dd a, double power_of_two) {
    return (Dd){a.hi * power_of_two, a.lo * power_of_two};
}

static void map_scale(Map *map, Dd factor) {
    for (; fabs(factor.hi) < 0x1p-300 && factor.hi != 0; map->below += 10) factor = scaled(factor, 0x1p300);
    map->factor = dd_multiply(map->factor, factor);
    map->size *= fabs(factor.hi);
    for (; map->size < SMALL && map->size > 0; map->below++) {
        map->size *= 1 / SMALL;
        map->factor = scaled(map->factor, 1 / SMALL);
    }
    for (; map->below > 0 && map->size > 1; map->below--) {
        map->size *= SMALL;
        map->factor = scaled(map->factor, SMALL);
    }
    if (map->below == 0 && map->size > map->most) map->most = map->size;
}

static Map map_of(const RecurrenceLine *line, size_t first, size_t end) {
    Map map = {.factor = {1, 0}, .size = 1, .most = 1, .length = (double)(end - first), .kinds = recurrence_kinds_unchanged()};
    for (size_t p = first; p < end; p++) {
        const RecurrenceStep step = recurrence_step(line, p);
        recurrence_advance(&map.sum, &step, INFINITY);
        map_scale(&map, step.factor);
        if (step.cut || step.kind != KIND_FINITE || !(step.sign > 0 && step.sign < INFINITY))
            recurrence_kinds_append(&map.kinds, &step);
    }
    map.sum.kind = map.kinds.after[KIND_FINITE];
    return map;
}

/* The state behind a block, for what is carried into it; false if something on the way may pass the limit. */
static bool map_apply(const Map *map, double limit, RecurrenceSum *state) {
    const double most = map->sum.most + map->most * state->magnitude;
    if (!(most < limit && most < RECURRENCE_SAFE)) return false;
    RecurrenceSum next = map->sum;
    Dd value = dd_multiply(map->factor, state->value);
    double small = 1;
    for (int b = 0; b < (map->below < BELOW_MAX ? map->below : BELOW_MAX); b++) {
        value = scaled(value, SMALL);
        small *= SMALL;
    }
    next.kind = map->kinds.after[state->kind];
    next.value = dd_add(map->sum.value, value);
    next.magnitude += map->size * state->magnitude * small;
    next.travelled += map->size * (state->travelled + map->length * state->magnitude) * small;
    next.weight += map->size * state->weight * small;
    next.most = most > state->most ? most : state->most;
    *state = next;
    return true;
}

static void run_serial(const RecurrenceLine *line, size_t first, size_t end, RecurrenceSum sum, RecurrenceEmit emit,
                       void *context) {
    for (size_t p = first; p < end; p++) {
        const RecurrenceStep step = recurrence_step(line, p);
        recurrence_advance(&sum, &step, line->limit);
        emit(context, recurrence_element(line, p), &sum);
    }
}

static size_t block_end(const RecurrenceLine *line, size_t block) {
    return (block + 1) * BLOCK < line->n ? (block + 1) * BLOCK : line->n;
}

/* What is carried into every block. */
static void carry(const RecurrenceLine *line, const Map *maps, size_t blocks, RecurrenceSum *into) {
    RecurrenceSum state = {0};
    for (size_t b = 0; b < blocks; b++) {
        into[b] = state;
        if (map_apply(&maps[b], line->limit, &state)) continue;
        for (size_t p = b * BLOCK; p < block_end(line, b); p++) {
            const RecurrenceStep step = recurrence_step(line, p);
            recurrence_advance(&state, &step, line->limit);
        }
    }
}

static Status run_blocks(const RecurrenceLine *line, RecurrenceEmit emit, void *context) {
    const size_t blocks = (line->n + BLOCK - 1) / BLOCK;
    Map *maps = malloc(blocks * sizeof *maps);
    RecurrenceSum *into = malloc(blocks * sizeof *into);
    if (maps && into) {
#pragma omp parallel for schedule(dynamic)
        for (size_t b = 0; b < blocks; b++) maps[b] = map_of(line, b * BLOCK, block_end(line, b));
        carry(line, maps, blocks, into);
#pragma omp parallel for schedule(dynamic)
        for (size_t b = 0; b < blocks; b++) run_serial(line, b * BLOCK, block_end(line, b), into[b], emit, context);
    }
    const bool starved = !maps || !into;
    free(maps);
    free(into);
    return starved ? status_fail(STATUS_MEMORY, "reference: no memory for %zu blocks of a row", blocks) : STATUS_OK;
}

bool recurrence_is_long(size_t n) {
    return n > LONG;
}

Status recurrence_run(const RecurrenceLine *line, size_t terms, RecurrenceEmit emit, void *context) {
    if (terms <= line->n) return recurrence_run_window(line, terms, emit, context);
    if (line->wide) return recurrence_run_wide(line, emit, context);
    if (recurrence_is_long(line->n)) return run_blocks(line, emit, context);
    run_serial(line, 0, line->n, (RecurrenceSum){0}, emit, context);
    return STATUS_OK;
}

double recurrence_value(const RecurrenceLine *line, const RecurrenceSum *sum) {
    if (sum->kind != KIND_FINITE) return recurrence_special(sum->kind);
    const double value = sum->value.hi;
    return fabs(value) < line->limit ? value / line->scale : copysign(INFINITY, value);
}
