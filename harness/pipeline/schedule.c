#include "pipeline/schedule.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

static const double LONG_SECONDS = 10;

bool later_waits(const Later *self, const PlanItem *item, double seconds) {
    return !self->begun && item->row_class != CLASS_NONE && seconds > LONG_SECONDS;
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

/* The items of one op in a class. */
typedef struct Queue {
    const PlanItem *next, *end;
    double spent;
} Queue;

/* *count: how many there are, at most one for each item. */
static void make_queues(const PlanItem *items, int item_count, Queue *queues, int *count) {
    *count = 0;
    for (const PlanItem *item = items; item < items + item_count; item++) {
        if (item == items || strcmp(item[-1].problem.op, item->problem.op) != 0) queues[(*count)++] = (Queue){.next = item};
        queues[*count - 1].end = item + 1;
    }
}

static Queue *next_queue(Queue *queues, int count) {
    Queue *least = NULL;
    for (Queue *queue = queues; queue < queues + count; queue++)
        if (queue->next < queue->end && (!least || queue->spent < least->spent)) least = queue;
    return least;
}

static Status run_class(Run *run, const PlanItem *items, int count, Status (*make)(Run *, const PlanItem *, int)) {
    Queue *queues = calloc((size_t)count, sizeof *queues);
    int queue_count = 0;
    Status status = STATUS_OK;
    if (!queues) return status_fail(STATUS_MEMORY, "no memory for the turns of %d cases", count);
    make_queues(items, count, queues, &queue_count);
    for (Queue *queue; status == STATUS_OK && (queue = next_queue(queues, queue_count));) {
        const PlanItem *first = queue->next;
        const double begin = clock_seconds();
        while (queue->next < queue->end && queue->next->turn == first->turn) queue->next++;
        status = make(run, first, (int)(queue->next - first));
        queue->spent += clock_seconds() - begin;
    }
    free(queues);
    return status;
}

Status schedule_run(const Plan *plan, Run *run, Status (*make)(Run *run, const PlanItem *items, int count)) {
    for (int i = 0, count = 0; i < plan->item_count; i += count) {
        const PlanItem *items = &plan->items[i];
        for (count = 1; i + count < plan->item_count && items[count].row_class == items->row_class;) count++;
        TRY(items->row_class != CLASS_NONE ? run_class(run, items, count, make) : make(run, items, count));
    }
    return STATUS_OK;
}
