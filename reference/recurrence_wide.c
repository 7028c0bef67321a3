/* Sums whose weights, or whose values on the way, leave the range of doubles: the serial recurrence and the cut of
 * recurrence_window.c once more, in numbers that have no range. */
#include "recurrence.h"
#include "wide.h"

#include <stdlib.h>

struct RecurrenceWideSum {
    Wide value, magnitude, travelled, weight, carried;
    double most;
    RecurrenceKind kind;
};

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
    };
    if (out.kind == KIND_FINITE && !(fabs(out.value.hi) < limit)) out.kind = out.value.hi > 0 ? KIND_PLUS_INF : KIND_MINUS_INF;
    if (out.kind != KIND_FINITE) out = (RecurrenceSum){.most = out.most, .kind = out.kind};
    return out;
}

static void advance(RecurrenceWideSum *sum, const RecurrenceStep *step) {
    const Wide factor = wide_from_dd(step->factor), size = wide_absolute(factor), x = wide_from(step->x);
    sum->kind = recurrence_kind(step, sum->kind);
    if (factor.part.hi == 0) sum->most = 0;
    sum->value = wide_add(wide_multiply(sum->value, factor), x);
    sum->travelled = wide_multiply(size, wide_add(sum->travelled, sum->magnitude));
    sum->carried = wide_multiply(size, sum->magnitude);
    sum->magnitude = wide_add(wide_absolute(x), sum->carried);
    sum->weight = wide_multiply(size, sum->weight);
    if (sum->magnitude.part.hi > 0) sum->weight = wide_add(sum->weight, wide_from(RECURRENCE_WEIGHT_UNIT));
    sum->most = fmax(sum->most, wide_to_double(sum->magnitude));
}

Status recurrence_run_wide(const RecurrenceLine *line, RecurrenceEmit emit, void *context) {
    RecurrenceWideSum sum = {0};
    for (size_t p = 0; p < line->n; p++) {
        const RecurrenceStep step = recurrence_step(line, p);
        advance(&sum, &step);
        const RecurrenceSum out = narrowed(&sum, line->limit);
        if (out.kind != KIND_FINITE) sum = (RecurrenceWideSum){.most = out.most, .kind = out.kind};
        emit(context, recurrence_element(line, p), &out);
    }
    return STATUS_OK;
}

static void scan_tails(const RecurrenceLine *line, size_t first, size_t end, RecurrenceWideSum *tails) {
    RecurrenceKinds kinds = recurrence_kinds_unchanged();
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
        recurrence_kinds_prepend(&kinds, &step);
    }
}

/* weight: of the head, its leading zeros included. */
static RecurrenceWideSum join(const RecurrenceWideSum *tail, Wide path, RecurrenceKind kind, double length,
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

static void run_tile(const RecurrenceLine *line, size_t first, size_t end, size_t terms, void *memory, RecurrenceEmit emit,
                     void *context) {
    RecurrenceWideSum *tails = first > 0 ? memory : NULL, head = {0};
    if (tails) scan_tails(line, first - terms, first, tails);
    RecurrenceKinds kinds = recurrence_kinds_unchanged();
    Wide path = wide_from(1), weight = {0};
    for (size_t p = first; p < end; p++) {
        RecurrenceStep step = recurrence_step(line, p);
        path = wide_multiply(path, wide_from_dd(step.factor));
        recurrence_kinds_append(&kinds, &step);
        if (p == first) {
            step.cut = true; /* for the head alone */
            step.factor = dd_from(0);
        }
        advance(&head, &step);
        weight = wide_add(times(weight, fabs(step.factor.hi)), wide_from(RECURRENCE_WEIGHT_UNIT));
        const size_t tail = p + 1 - first; /* the window begins at first - terms + tail */
        RecurrenceWideSum sum = head;
        if (tails && tail < terms) sum = join(&tails[tail], path, kinds.after[tails[tail].kind], (double)tail, &head, weight);
        const RecurrenceSum out = narrowed(&sum, line->limit);
        emit(context, recurrence_element(line, p), &out);
    }
}

const RecurrenceTiles RECURRENCE_TILES_WIDE = {run_tile, sizeof(RecurrenceWideSum)};
