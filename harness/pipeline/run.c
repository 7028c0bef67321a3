#include "pipeline/run.h"

#include "base/clock.h"
#include "device/child.h"
#include "protocol.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

RunOptions run_options_default(void) {
    return (RunOptions){.timeout_seconds = 120,
                        .bit_calls = BITS_AS_FIT,
                        .min_samples = 9,
                        .max_samples = 101,
                        .seconds_per_mode = 1,
                        .shared_workers = true};
}

void run_notice(const Run *run, const char *format, ...) {
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (run->options->notice) run->options->notice(run->options->context, text);
}

void run_event(const Run *run, void (*listener)(void *context, const RunEvent *event), size_t index, const RunEvent *what) {
    if (!listener) return;
    const double present = clock_seconds(),
                 left = (double)(run->summary->total - run->index) + (listener == run->options->begin ? 1 : 0);
    double eta = run->executed ? (present - run->first_row) / (double)run->executed * left : 0;
    const double budget_left = run->begin + run->options->budget_seconds - present;
    if (run->options->budget_seconds > 0 && eta > budget_left) eta = budget_left > 0 ? budget_left : 0;
    RunEvent event = *what;
    event.index = index;
    event.total = run->summary->total;
    event.failures = run->summary->failed + run->summary->errors;
    event.eta_seconds = eta;
    listener(run->options->context, &event);
}

double run_deadline(const Run *run) {
    return run->options->budget_seconds > 0 ? run->begin + run->options->budget_seconds : INFINITY;
}

Status run_ask_device(int device, const char *what, const char *kind, json_t **reply) {
    Child *child = NULL;
    TRY(child_start(&(ChildOptions){0}, &child));
    json_t *command = json_pack("{s:s, s:s, s:i}", KEY_DO, what, KEY_KIND, kind, KEY_DEVICE, device);
    const Status status = child_ask(child, command, 300, reply);
    child_stop(child);
    return status;
}

/* ---- The order of items. */

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
typedef struct OpItems {
    const PlanItem *next, *end;
    double spent;
} OpItems;

/* *count: how many there are, at most one for each item. */
static void find_ops(const PlanItem *items, int item_count, OpItems *ops, int *count) {
    *count = 0;
    for (const PlanItem *item = items; item < items + item_count; item++) {
        if (item == items || strcmp(item[-1].problem.op, item->problem.op) != 0) ops[(*count)++] = (OpItems){.next = item};
        ops[*count - 1].end = item + 1;
    }
}

static OpItems *next_op(OpItems *ops, int count) {
    OpItems *least = NULL;
    for (OpItems *op = ops; op < ops + count; op++)
        if (op->next < op->end && (!least || op->spent < least->spent)) least = op;
    return least;
}

Status schedule_run(Run *run, Status (*make)(Run *run, const PlanItem *items, int count)) {
    const Plan *plan = run->plan;
    OpItems *ops = calloc((size_t)plan->item_count + 1, sizeof *ops);
    if (!ops) return status_fail(STATUS_MEMORY, "no memory for the order of %d cases", plan->item_count);
    Status status = STATUS_OK;
    for (int i = 0, count = 0; i < plan->item_count && status == STATUS_OK; i += count) {
        const PlanItem *items = &plan->items[i];
        int op_count = 0;
        for (count = 1; i + count < plan->item_count && items[count].row_class == items->row_class;) count++;
        find_ops(items, count, ops, &op_count);
        for (OpItems *op; status == STATUS_OK && (op = next_op(ops, op_count));) {
            const PlanItem *first = op->next;
            const double begin = clock_seconds();
            while (op->next < op->end && op->next->rank == first->rank) op->next++;
            status = make(run, first, (int)(op->next - first));
            op->spent += clock_seconds() - begin;
        }
    }
    free(ops);
    return status;
}
