/* Sums of the last K terms, by van Herk's and Gil and Werman's cut: the row in tiles of K positions; a window is the tail of one
 * tile and the head of the next, joined without a subtraction, so that what has left a window leaves no trace. */
#include "recurrence.h"

#include <stdlib.h>

enum { TASK = 1 << 16 /* positions, at least, that one thread takes at a time */ };

RecurrenceKinds recurrence_kinds_unchanged(void) {
    return (RecurrenceKinds){{KIND_FINITE, KIND_PLUS_INF, KIND_MINUS_INF, KIND_NAN}};
}

void recurrence_kinds_append(RecurrenceKinds *kinds, const RecurrenceStep *step) {
    for (RecurrenceKind k = 0; k < KIND_COUNT; k++) kinds->after[k] = recurrence_kind(step, kinds->after[k]);
}

void recurrence_kinds_prepend(RecurrenceKinds *kinds, const RecurrenceStep *step) {
    const RecurrenceKinds before = *kinds;
    for (RecurrenceKind k = 0; k < KIND_COUNT; k++) kinds->after[k] = before.after[recurrence_kind(step, k)];
}

/* The product of the factors of a run of elements, and what they make of the kinds. */
typedef struct Path {
    Dd factor;
    double size;
    RecurrenceKinds kinds;
} Path;

static Path path_empty(void) {
    return (Path){{1, 0}, 1, recurrence_kinds_unchanged()};
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
        recurrence_kinds_prepend(&path.kinds, &step);
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
        recurrence_kinds_append(&path.kinds, &step);
        if (p == first) {
            step.cut = true; /* for the head alone */
            step.factor = dd_from(0);
        }
        recurrence_advance(&head, &step, INFINITY);
        weight = RECURRENCE_WEIGHT_UNIT + fabs(step.factor.hi) * weight;
        const size_t tail = p + 1 - first; /* the window begins at first - terms + tail */
        const RecurrenceSum sum = tails && tail < terms ? join(&tails[tail], &path, (double)(p + 1 - first), &head, weight) : head;
        emit(context, recurrence_element(line, p), &sum);
    }
}

static const RecurrenceTiles TILES = {run_tile, sizeof(RecurrenceSum)};

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

Status recurrence_run_window(const RecurrenceLine *line, size_t terms, RecurrenceEmit emit, void *context) {
    const RecurrenceTiles *how = line->wide ? &RECURRENCE_TILES_WIDE : &TILES;
    const size_t tiles = (line->n + terms - 1) / terms, tiles_per_task = (TASK + terms - 1) / terms;
    const size_t tasks = (tiles + tiles_per_task - 1) / tiles_per_task;
    bool starved = false;
#pragma omp parallel for schedule(dynamic)
    for (size_t task = 0; task < tasks; task++) {
        void *tails = malloc(terms * how->sum_size);
        const size_t end = tails ? smaller((task + 1) * tiles_per_task, tiles) : 0;
        for (size_t tile = task * tiles_per_task; tile < end; tile++)
            how->run(line, tile * terms, smaller((tile + 1) * terms, line->n), terms, tails, emit, context);
        if (!tails) {
#pragma omp atomic write
            starved = true;
        }
        free(tails);
    }
    return starved ? status_fail(STATUS_MEMORY, "reference: no memory for %zu sums", terms) : STATUS_OK;
}
