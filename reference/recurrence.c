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
    double x = load(line->x, line->f32, element);
    if (line->skip_nan && isnan(x)) x = 0;
    RecurrenceStep step = {.kind = kind_of(x)};
    step.x = step.kind == KIND_FINITE ? x * line->scale : 0;
    const size_t edge = line->adjoint && position > 0 ? recurrence_element(line, position - 1) : element;
    const bool cut = position == 0 || (line->reset && line->reset[edge]);
    if (!cut) step.factor = line->factors ? dd_from(load(line->factors, line->f32, edge)) : line->factor;
    const double factor = step.factor.hi;
    for (RecurrenceKind k = 0; k < KIND_COUNT; k++) step.after[k] = cut ? step.kind : kind_added(kind_scaled(k, factor), step.kind);
    if (!isfinite(factor)) step.factor = dd_from(0);
    return step;
}

/* One element further. */
static void advance(RecurrenceSum *sum, const RecurrenceStep *step, double limit) {
    const double factor = fabs(step->factor.hi), x = fabs(step->x);
    sum->kind = step->after[sum->kind];
    sum->value = dd_add_double(dd_multiply(sum->value, step->factor), step->x);
    sum->travelled = factor * (sum->travelled + sum->magnitude);
    sum->carried = factor * sum->magnitude;
    sum->magnitude = x + sum->carried;
    sum->weight = 1 + factor * sum->weight;
    sum->most = sum->magnitude > sum->most ? sum->magnitude : sum->most;
    if (fabs(sum->value.hi) >= limit) {
        if (sum->kind == KIND_FINITE) sum->kind = sum->value.hi > 0 ? KIND_PLUS_INF : KIND_MINUS_INF;
        *sum = (RecurrenceSum){.most = sum->most, .kind = sum->kind};
    }
}

static void run_serial(const RecurrenceLine *line, size_t first, size_t end, RecurrenceSum *sum, RecurrenceEmit emit,
                       void *context) {
    for (size_t p = first; p < end; p++) {
        const RecurrenceStep step = recurrence_step(line, p);
        advance(sum, &step, line->limit);
        emit(context, recurrence_element(line, p), sum);
    }
}

Status recurrence_run(const RecurrenceLine *line, size_t terms, RecurrenceEmit emit, void *context) {
    if (terms < line->n) return recurrence_run_window(line, terms, emit, context);
    RecurrenceSum sum = {0};
    run_serial(line, 0, line->n, &sum, emit, context);
    return STATUS_OK;
}

double recurrence_value(const RecurrenceLine *line, const RecurrenceSum *sum) {
    static const double special[] = {[KIND_PLUS_INF] = INFINITY, [KIND_MINUS_INF] = -INFINITY, [KIND_NAN] = NAN};
    if (sum->kind != KIND_FINITE) return special[sum->kind];
    return sum->value.hi / line->scale;
}
