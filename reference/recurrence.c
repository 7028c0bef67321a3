/* See recurrence.h. Rows of more than LONG elements are cut into blocks: a first pass composes each block's map of what is carried
 * into it, a short serial one carries, and a second pass runs every block from what it was given. */
#include "recurrence.h"
#include "vector.h"

#include <stdlib.h>

enum { BLOCK = 1 << 16, LONG = 1 << 17, TASK = 1 << 16 /* positions, at least, that one thread takes at a time */ };

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
    const double x = vector_load(line->x, line->f32, element);
    RecurrenceStep step = {.kind = kind_of(x)};
    step.x = isfinite(x) ? x * line->scale : 0;
    const size_t edge = line->adjoint && position > 0 ? recurrence_element(line, position - 1) : element;
    step.cut = position == 0 || (line->reset && line->reset[edge]);
    if (step.cut) return step;
    step.factor = line->factors ? dd_from(vector_load(line->factors, line->f32, edge)) : line->factor;
    step.sign = step.factor.hi;
    if (!isfinite(step.sign)) step.factor = dd_from(0);
    return step;
}

/* The kind of the result, by the kind of what is carried in. */
static RecurrenceKind step_kind(const RecurrenceStep *step, RecurrenceKind carried) {
    return step->cut ? step->kind : kind_added(kind_scaled(carried, step->sign), step->kind);
}

/* One element further. A value that reaches the limit becomes an infinity. */
static void advance(RecurrenceSum *sum, const RecurrenceStep *step, double limit) {
    const double factor = fabs(step->factor.hi);
    sum->kind = step_kind(step, sum->kind);
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

/* What a run of elements makes of the kinds: `after[k]` behind it if k is carried into it. */
typedef struct Kinds {
    RecurrenceKind after[KIND_COUNT];
} Kinds;

static Kinds kinds_unchanged(void) {
    return (Kinds){{KIND_FINITE, KIND_PLUS_INF, KIND_MINUS_INF, KIND_NAN}};
}

static void kinds_append(Kinds *kinds, const RecurrenceStep *step) {
    for (RecurrenceKind k = 0; k < KIND_COUNT; k++) kinds->after[k] = step_kind(step, kinds->after[k]);
}

static void kinds_prepend(Kinds *kinds, const RecurrenceStep *step) {
    const Kinds before = *kinds;
    for (RecurrenceKind k = 0; k < KIND_COUNT; k++) kinds->after[k] = before.after[step_kind(step, k)];
}

/* ---- All terms, in blocks. */

/* What a run of elements does to what is carried into it. */
typedef struct Map {
    RecurrenceSum sum; /* from nothing */
    Dd factor;         /* of what is carried, and the absolute value of it, and its largest on the way */
    double size, most, length;
    int below; /* factor and size are to be multiplied by SMALL so many times: products may sink far and rise again */
    Kinds kinds;
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
    Map map = {.factor = {1, 0}, .size = 1, .most = 1, .length = (double)(end - first), .kinds = kinds_unchanged()};
    for (size_t p = first; p < end; p++) {
        const RecurrenceStep step = recurrence_step(line, p);
        advance(&map.sum, &step, INFINITY);
        map_scale(&map, step.factor);
        if (step.cut || step.kind != KIND_FINITE || !(step.sign > 0 && step.sign < INFINITY)) kinds_append(&map.kinds, &step);
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
        advance(&sum, &step, line->limit);
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
            advance(&state, &step, line->limit);
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

/* ---- Sums of the last K terms, by van Herk's and Gil and Werman's cut: the row in tiles of K positions; a window is the tail of
 * one tile and the head of the next, joined without a subtraction, so that what has left a window leaves no trace. */

/* The product of the factors of a run of elements, and what they make of the kinds. */
typedef struct Path {
    Dd factor;
    double size;
    Kinds kinds;
} Path;

static Path path_empty(void) {
    return (Path){{1, 0}, 1, kinds_unchanged()};
}

static void path_scale(Path *path, const RecurrenceStep *step) {
    path->factor = dd_multiply(path->factor, step->factor);
    if (!(fabs(path->factor.hi) > RECURRENCE_POWER_MIN)) path->factor = dd_from(0);
    path->size *= fabs(step->factor.hi);
    if (!(path->size > RECURRENCE_POWER_MIN)) path->size = 0;
}

/* tails[p - first]: the sum from p to the end of the tile, as it stands there. */
static void scan_tails(const RecurrenceLine *line, size_t first, size_t end, RecurrenceSum *tails) {
    Path path = path_empty();
    RecurrenceSum tail = {0};
    double weight = 0;
    for (size_t p = end; p-- > first;) {
        const RecurrenceStep step = recurrence_step(line, p);
        const double x = fabs(step.x);
        tail.value = dd_add(tail.value, dd_multiply_double(path.factor, step.x));
        tail.magnitude += path.size * x;
        tail.travelled += path.size * x * (double)(end - 1 - p);
        weight += path.size * RECURRENCE_WEIGHT_UNIT;
        if (x > 0) tail.weight = weight;
        tail.most += x;
        tail.kind = path.kinds.after[step.kind];
        tails[p - first] = tail;
        path_scale(&path, &step);
        kinds_prepend(&path.kinds, &step);
    }
}

/* weight: of the head, its leading zeros included. */
static RecurrenceSum join(const RecurrenceSum *tail, const Path *path, double length, const RecurrenceSum *head, double weight) {
    RecurrenceSum sum = *head;
    const double magnitude = path->size * tail->magnitude;
    sum.value = dd_add(head->value, dd_multiply(path->factor, tail->value));
    sum.magnitude += magnitude;
    sum.carried += magnitude;
    sum.travelled += path->size * tail->travelled + length * magnitude;
    if (tail->magnitude > 0) sum.weight = weight + path->size * tail->weight;
    sum.most += tail->most + sum.magnitude;
    sum.kind = path->kinds.after[tail->kind];
    if (sum.kind == KIND_FINITE) sum.kind = head->kind; /* a head that has overflown */
    if (sum.kind == KIND_FINITE && !isfinite(sum.value.hi))
        sum.kind = path->factor.hi * tail->value.hi + head->value.hi > 0 ? KIND_PLUS_INF : KIND_MINUS_INF;
    return sum;
}

static void run_tile(const RecurrenceLine *line, size_t first, size_t end, size_t terms, void *memory, RecurrenceEmit emit,
                     void *context) {
    RecurrenceSum *tails = first > 0 ? memory : NULL;
    if (tails) scan_tails(line, first - terms, first, tails);
    Path path = path_empty();
    RecurrenceSum head = {0};
    double weight = 0;
    for (size_t p = first; p < end; p++) {
        RecurrenceStep step = recurrence_step(line, p);
        path_scale(&path, &step);
        kinds_append(&path.kinds, &step);
        if (p == first) {
            step.cut = true; /* for the head alone */
            step.factor = dd_from(0);
        }
        advance(&head, &step, INFINITY);
        weight = RECURRENCE_WEIGHT_UNIT + fabs(step.factor.hi) * weight;
        const size_t tail = p + 1 - first; /* the window begins at first - terms + tail */
        const RecurrenceSum sum = tails && tail < terms ? join(&tails[tail], &path, (double)(p + 1 - first), &head, weight) : head;
        emit(context, recurrence_element(line, p), &sum);
    }
}

/* ---- Sums whose weights, or whose values on the way, leave the range of doubles: the serial recurrence and the cut of
 * the tiles once more, in numbers that have no range. */

static Wide times(Wide a, double b) {
    return wide_multiply(a, wide_from(b));
}

static RecurrenceSum narrowed(const RecurrenceWideSum *sum, double limit) {
    RecurrenceSum out = {
        .value = wide_to_dd(sum->value),
        .magnitude = wide_to_double(sum->magnitude),
        .travelled = wide_to_double(sum->travelled),
        .weight = wide_to_double(sum->weight),
        .carried = wide_to_double(sum->carried),
        .most = sum->most,
        .kind = sum->kind,
        .wide = sum,
    };
    if (out.kind == KIND_FINITE && !(fabs(out.value.hi) < limit)) out.kind = out.value.hi > 0 ? KIND_PLUS_INF : KIND_MINUS_INF;
    if (out.kind != KIND_FINITE) out = (RecurrenceSum){.most = out.most, .kind = out.kind};
    return out;
}

static void advance_wide(RecurrenceWideSum *sum, const RecurrenceStep *step) {
    const Wide factor = wide_from_dd(step->factor), size = wide_absolute(factor), x = wide_from(step->x);
    sum->kind = step_kind(step, sum->kind);
    if (factor.part.hi == 0) sum->most = 0;
    sum->value = wide_add(wide_multiply(sum->value, factor), x);
    sum->travelled = wide_multiply(size, wide_add(sum->travelled, sum->magnitude));
    sum->carried = wide_multiply(size, sum->magnitude);
    sum->magnitude = wide_add(wide_absolute(x), sum->carried);
    sum->weight = wide_multiply(size, sum->weight);
    if (sum->magnitude.part.hi > 0) sum->weight = wide_add(sum->weight, wide_from(RECURRENCE_WEIGHT_UNIT));
    sum->most = fmax(sum->most, wide_to_double(sum->magnitude));
}

static Status run_wide(const RecurrenceLine *line, RecurrenceEmit emit, void *context) {
    RecurrenceWideSum sum = {0};
    for (size_t p = 0; p < line->n; p++) {
        const RecurrenceStep step = recurrence_step(line, p);
        advance_wide(&sum, &step);
        const RecurrenceSum out = narrowed(&sum, line->limit);
        if (out.kind != KIND_FINITE) sum = (RecurrenceWideSum){.most = out.most, .kind = out.kind};
        emit(context, recurrence_element(line, p), &out);
    }
    return STATUS_OK;
}

static void scan_tails_wide(const RecurrenceLine *line, size_t first, size_t end, RecurrenceWideSum *tails) {
    Kinds kinds = kinds_unchanged();
    RecurrenceWideSum tail = {0};
    Wide path = wide_from(1), weight = {0};
    for (size_t p = end; p-- > first;) {
        const RecurrenceStep step = recurrence_step(line, p);
        const Wide term = times(path, step.x), magnitude = wide_absolute(term);
        tail.value = wide_add(tail.value, term);
        tail.magnitude = wide_add(tail.magnitude, magnitude);
        tail.travelled = wide_add(tail.travelled, times(magnitude, (double)(end - 1 - p)));
        weight = wide_add(weight, times(wide_absolute(path), RECURRENCE_WEIGHT_UNIT));
        if (magnitude.part.hi > 0) tail.weight = weight;
        tail.most += fabs(step.x);
        tail.kind = kinds.after[step.kind];
        tails[p - first] = tail;
        path = wide_multiply(path, wide_from_dd(step.factor));
        kinds_prepend(&kinds, &step);
    }
}

/* weight: of the head, its leading zeros included. */
static RecurrenceWideSum join_wide(const RecurrenceWideSum *tail, Wide path, RecurrenceKind kind, double length,
                                   const RecurrenceWideSum *head, Wide weight) {
    const Wide size = wide_absolute(path), magnitude = wide_multiply(size, tail->magnitude);
    const Wide travelled = wide_add(wide_multiply(size, tail->travelled), times(magnitude, length));
    RecurrenceWideSum sum = {
        .value = wide_add(head->value, wide_multiply(path, tail->value)),
        .magnitude = wide_add(head->magnitude, magnitude),
        .travelled = wide_add(head->travelled, travelled),
        .weight = tail->magnitude.part.hi > 0 ? wide_add(weight, wide_multiply(size, tail->weight)) : head->weight,
        .carried = wide_add(head->carried, magnitude),
        .kind = kind,
    };
    sum.most = head->most + tail->most + wide_to_double(sum.magnitude);
    return sum;
}

static void run_tile_wide(const RecurrenceLine *line, size_t first, size_t end, size_t terms, void *memory, RecurrenceEmit emit,
                          void *context) {
    RecurrenceWideSum *tails = first > 0 ? memory : NULL, head = {0};
    if (tails) scan_tails_wide(line, first - terms, first, tails);
    Kinds kinds = kinds_unchanged();
    Wide path = wide_from(1), weight = {0};
    for (size_t p = first; p < end; p++) {
        RecurrenceStep step = recurrence_step(line, p);
        path = wide_multiply(path, wide_from_dd(step.factor));
        kinds_append(&kinds, &step);
        if (p == first) {
            step.cut = true; /* for the head alone */
            step.factor = dd_from(0);
        }
        advance_wide(&head, &step);
        weight = wide_add(times(weight, fabs(step.factor.hi)), wide_from(RECURRENCE_WEIGHT_UNIT));
        const size_t tail = p + 1 - first; /* the window begins at first - terms + tail */
        RecurrenceWideSum sum = head;
        if (tails && tail < terms) sum = join_wide(&tails[tail], path, kinds.after[tails[tail].kind], (double)tail, &head, weight);
        const RecurrenceSum out = narrowed(&sum, line->limit);
        emit(context, recurrence_element(line, p), &out);
    }
}

/* How the sums of a tile [first, end) of `terms` positions or, the last, fewer are found. tails: memory for `terms` sums. */
typedef struct Tiles {
    void (*run)(const RecurrenceLine *line, size_t first, size_t end, size_t terms, void *tails, RecurrenceEmit emit,
                void *context);
    size_t sum_size;
} Tiles;
static const Tiles TILES = {run_tile, sizeof(RecurrenceSum)}, TILES_WIDE = {run_tile_wide, sizeof(RecurrenceWideSum)};

/* At most as many terms as elements. Each sum stands alone: only its own value passes the range. */
static Status run_window(const RecurrenceLine *line, size_t terms, RecurrenceEmit emit, void *context) {
    const Tiles *how = line->wide ? &TILES_WIDE : &TILES;
    const size_t tiles = (line->n + terms - 1) / terms, tiles_per_task = (TASK + terms - 1) / terms;
    const size_t tasks = (tiles + tiles_per_task - 1) / tiles_per_task;
    bool starved = false;
#pragma omp parallel for schedule(dynamic)
    for (size_t task = 0; task < tasks; task++) {
        void *tails = malloc(terms * how->sum_size);
        const size_t end = tails ? fewer((task + 1) * tiles_per_task, tiles) : 0;
        for (size_t tile = task * tiles_per_task; tile < end; tile++)
            how->run(line, tile * terms, fewer((tile + 1) * terms, line->n), terms, tails, emit, context);
        if (!tails) {
#pragma omp atomic write
            starved = true;
        }
        free(tails);
    }
    return starved ? status_fail(STATUS_MEMORY, "reference: no memory for %zu sums", terms) : STATUS_OK;
}

bool recurrence_is_long(size_t n) {
    return n > LONG;
}

Status recurrence_run(const RecurrenceLine *line, size_t terms, RecurrenceEmit emit, void *context) {
    if (terms <= line->n) return run_window(line, terms, emit, context);
    if (line->wide) return run_wide(line, emit, context);
    if (recurrence_is_long(line->n)) return run_blocks(line, emit, context);
    run_serial(line, 0, line->n, (RecurrenceSum){0}, emit, context);
    return STATUS_OK;
}

double recurrence_value(const RecurrenceLine *line, const RecurrenceSum *sum) {
    if (sum->kind != KIND_FINITE) return recurrence_special(sum->kind);
    const double value = sum->value.hi;
    return fabs(value) < line->limit ? value / line->scale : copysign(INFINITY, value);
}
