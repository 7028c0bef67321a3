#include "pipeline/turns.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

/* The items of one op at a stage. */
typedef struct Queue {
    int next, end;
    double spent;
} Queue;

static bool same_queue(const PlanItem *a, const PlanItem *b) {
    return a->stage == b->stage && strcmp(a->problem.op, b->problem.op) == 0;
}

/* *count: how many there are, at most one for each item. */
static void make_queues(const PlanItem *items, int item_count, Queue *queues, int *count) {
    *count = 0;
    for (int i = 0; i < item_count; i++) {
        if (i == 0 || !same_queue(&items[i - 1], &items[i])) queues[(*count)++] = (Queue){.next = i};
        queues[*count - 1].end = i + 1;
    }
}

/* Items that a turn makes: one at least. */
static int turn_length(const PlanItem *items, int count, double most) {
    double seconds = items[0].seconds;
    int length = 1;
    while (length < count && seconds + items[length].seconds <= most) seconds += items[length++].seconds;
    return length;
}

static Queue *next_queue(Queue *queues, int count) {
    Queue *least = NULL;
    for (int q = 0; q < count; q++)
        if (queues[q].next < queues[q].end && (!least || queues[q].spent < least->spent)) least = &queues[q];
    return least;
}

static Status take_stage(Run *run, const PlanItem *items, int count, Status (*make)(Run *, const PlanItem *, int)) {
    Queue *queues = calloc((size_t)count, sizeof *queues);
    int queue_count = 0;
    Status status = STATUS_OK;
    if (!queues) return status_fail(STATUS_MEMORY, "no memory for the turns of %d cases", count);
    make_queues(items, count, queues, &queue_count);
    for (Queue *queue; status == STATUS_OK && (queue = next_queue(queues, queue_count));) {
        const int length = turn_length(&items[queue->next], queue->end - queue->next, run->plan->turn_seconds);
        const double begin = clock_seconds();
        status = make(run, &items[queue->next], length);
        queue->spent += clock_seconds() - begin;
        queue->next += length;
    }
    free(queues);
    return status;
}

Status turns_take(Run *run, Status (*make)(Run *run, const PlanItem *items, int count)) {
    const Plan *plan = run->plan;
    for (int i = 0, count = 0; i < plan->item_count; i += count) {
        const PlanItem *items = &plan->items[i];
        for (count = 1; i + count < plan->item_count && items[count].stage == items->stage;) count++;
        TRY(items->stage ? take_stage(run, items, count, make) : make(run, items, count));
    }
    return STATUS_OK;
}
