/* Sums of the last K terms, by van Herk's and Gil and Werman's cut: the row in tiles of K positions; a window is the tail of one
 * tile and the head of the next, joined without a subtraction, so that what has left a window leaves no trace. */
#include "recurrence.h"

#include <stdlib.h>
#include <string.h>

enum { TASK = 1 << 16 /* positions, at least, that one thread takes at a time */ };

static const RecurrenceKind UNCHANGED[KIND_COUNT] = {KIND_FINITE, KIND_PLUS_INF, KIND_MINUS_INF, KIND_NAN};

/* The product of the factors of a run of elements, and what they make of the kinds. */
typedef struct Path {
    Dd factor;
    double size;
    RecurrenceKind after[KIND_COUNT];
} Path;

static Path path_empty(void) {
    Path path = {.factor = {1, 0}, .size = 1};
    memcpy(path.after, UNCHANGED, sizeof UNCHANGED);
    return path;
}

static void path_scale(Path *path, const RecurrenceStep *step) {
    path->factor = dd_multiply(path->factor, step->factor);
    if (!(fabs(path->factor.hi) > RECURRENCE_POWER_MIN)) path->factor = dd_from(0);
    path->size *= fabs(step->factor.hi);
    if (!(path->size > RECURRENCE_POWER_MIN)) path->size = 0;
}

static void path_prepend(Path *path, const RecurrenceStep *step) {
    path_scale(path, step);
    RecurrenceKind after[KIND_COUNT];
    for (RecurrenceKind k = 0; k < KIND_COUNT; k++) after[k] = path->after[recurrence_kind(step, k)];
    memcpy(path->after, after, sizeof after);
}

static void path_append(Path *path, const RecurrenceStep *step) {
    path_scale(path, step);
    for (RecurrenceKind k = 0; k < KIND_COUNT; k++) path->after[k] = recurrence_kind(step, path->after[k]);
}

/* tails[p - first]: the sum from p to the end of the tile, as it stands there. */
static void scan_tails(const RecurrenceLine *line, size_t first, size_t end, RecurrenceSum *tails) {
    Path path = path_empty();
    RecurrenceSum tail = {0};
    for (size_t p = end; p-- > first;) {
        const RecurrenceStep step = recurrence_step(line, p);
        const double x = fabs(step.x);
        tail.value = dd_add(tail.value, dd_multiply_double(path.factor, step.x));
        tail.magnitude += path.size * x;
        tail.travelled += path.size * x * (double)(end - 1 - p);
        tail.weight += path.size;
        tail.most += x;
        tail.kind = path.after[step.kind];
        tails[p - first] = tail;
        path_prepend(&path, &step);
    }
}

static RecurrenceSum join(const RecurrenceSum *tail, const Path *path, double length, const RecurrenceSum *head) {
    RecurrenceSum sum = *head;
    const double magnitude = path->size * tail->magnitude;
    sum.value = dd_add(head->value, dd_multiply(path->factor, tail->value));
    sum.magnitude += magnitude;
    sum.carried += magnitude;
    sum.travelled += path->size * tail->travelled + length * magnitude;
    sum.weight += path->size * tail->weight;
    sum.most += tail->most + sum.magnitude;
    sum.kind = path->after[tail->kind];
    if (sum.kind == KIND_FINITE) sum.kind = head->kind; /* a head that has overflown */
    if (sum.kind == KIND_FINITE && !isfinite(sum.value.hi))
        sum.kind = path->factor.hi * tail->value.hi + head->value.hi > 0 ? KIND_PLUS_INF : KIND_MINUS_INF;
    return sum;
}

/* The outputs of one tile. tails: those of the tile before it, or NULL. */
static void run_tile(const RecurrenceLine *line, size_t first, size_t end, size_t terms, const RecurrenceSum *tails,
                     RecurrenceEmit emit, void *context) {
    Path path = path_empty();
    RecurrenceSum head = {0};
    for (size_t p = first; p < end; p++) {
        RecurrenceStep step = recurrence_step(line, p);
        path_append(&path, &step);
        if (p == first) {
            step.cut = true; /* for the head alone */
            step.factor = dd_from(0);
        }
        recurrence_advance(&head, &step, INFINITY);
        const size_t tail = p + 1 - first; /* the window begins at first - terms + tail */
        const RecurrenceSum sum = tails && tail < terms ? join(&tails[tail], &path, (double)(p + 1 - first), &head) : head;
        emit(context, recurrence_element(line, p), &sum);
    }
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static void run_task(const RecurrenceLine *line, size_t terms, size_t first_tile, size_t end_tile, RecurrenceSum *tails,
                     RecurrenceEmit emit, void *context) {
    for (size_t tile = first_tile; tile < end_tile; tile++) {
        const size_t first = tile * terms;
        if (tile > 0) scan_tails(line, first - terms, first, tails);
        run_tile(line, first, smaller(first + terms, line->n), terms, tile > 0 ? tails : NULL, emit, context);
    }
}

Status recurrence_run_window(const RecurrenceLine *line, size_t terms, RecurrenceEmit emit, void *context) {
    const size_t tiles = (line->n + terms - 1) / terms, tiles_per_task = (TASK + terms - 1) / terms;
    const size_t tasks = (tiles + tiles_per_task - 1) / tiles_per_task;
    bool starved = false;
#pragma omp parallel for schedule(dynamic)
    for (size_t task = 0; task < tasks; task++) {
        RecurrenceSum *tails = malloc(terms * sizeof *tails);
        if (tails) {
            const size_t first = task * tiles_per_task;
            run_task(line, terms, first, smaller(first + tiles_per_task, tiles), tails, emit, context);
        } else {
#pragma omp atomic write
            starved = true;
        }
        free(tails);
    }
    return starved ? status_fail(STATUS_MEMORY, "truth: no memory for %zu sums", terms) : STATUS_OK;
}
