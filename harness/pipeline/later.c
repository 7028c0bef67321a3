#include "pipeline/later.h"

#include <stdlib.h>

static const double LONG_SECONDS = 10;

bool later_waits(const Later *self, const PlanItem *item, double seconds) {
    return !self->begun && item->stage != 0 && seconds > LONG_SECONDS;
}

Status later_add(Later *self, const LaterRow *row) {
    LaterRow *rows = realloc(self->rows, (size_t)(self->count + 1) * sizeof *rows);
    if (!rows) return status_fail(STATUS_MEMORY, "no memory for a postponed row");
    self->rows = rows;
    self->rows[self->count++] = *row;
    return STATUS_OK;
}

static int by_seconds(const void *a, const void *b) {
    const LaterRow *x = a, *y = b;
    if (x->seconds != y->seconds) return x->seconds < y->seconds ? -1 : 1;
    if (x->item != y->item) return x->item < y->item ? -1 : 1;
    return x->choice < y->choice ? -1 : x->choice > y->choice;
}

void later_begin(Later *self) {
    self->begun = true;
    if (self->count > 0) qsort(self->rows, (size_t)self->count, sizeof *self->rows, by_seconds);
}

void later_close(Later *self) {
    free(self->rows);
    *self = (Later){0};
}
