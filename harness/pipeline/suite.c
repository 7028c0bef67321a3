#include "pipeline/suite.h"

#include "base/hostmemory.h"
#include "pipeline/batch.h"
#include "pipeline/instance.h"
#include "pipeline/schedule.h"
#include "plan/case.h"

#include <stdlib.h>
#include <string.h>

static const size_t MEMORY_SHARE = 3; /* a part takes at most the third of the host's memory that is free */
static const int FILES_MOST = 256;    /* that it has open: descriptors are often limited to 1024 */

/* Consecutive items of one scenario and op, in memory together. */
typedef struct Part {
    const PlanItem *items;
    int count;
    int *first;          /* for each item the first one of its case */
    Instance *instances; /* of those, created when a row needs them */
    bool emulated;
} Part;

static int passes_of(const PlanItem *item, bool emulated) {
    return emulated || item->processes < 1 ? 1 : item->processes;
}

size_t suites_rows(const Run *run) {
    size_t rows = 0;
    for (int i = 0; i < run->plan->item_count; i++) {
        const PlanItem *item = &run->plan->items[i];
        for (int v = 0; v < item->variant_count; v++) rows += (size_t)passes_of(item, run_emulates(run, &item->variants[v]));
    }
    return rows;
}

/* The first item of the same case: a claim's rows and others may be items of their own, and so may a case's rows with other modes.
 */
static int first_of_case(const PlanItem *items, int index, bool emulated) {
    int first = 0;
    while (first < index && !case_same(plan_item_case(&items[first], emulated), plan_item_case(&items[index], emulated))) first++;
    return first;
}

/* How many items from the first on make a part: one at least. */
static int fitting(const PlanItem *items, int count, bool emulated) {
    const size_t available = hostmemory_available_bytes(), most = available ? available / MEMORY_SHARE : SIZE_MAX;
    size_t bytes = 0;
    int files = 0, fit = 0;
    for (; fit < count && plan_same_suite(&items[0], &items[fit]); fit++) {
        Instance shapes;
        if (first_of_case(items, fit, emulated) < fit) continue;
        if (instance_shapes(plan_item_case(&items[fit], emulated), &shapes) != STATUS_OK) continue;
        bytes += instance_bytes(&shapes);
        files += DATA_COUNT * shapes.op->in_count + shapes.op->out_count;
        if (fit > 0 && (bytes > most || files > FILES_MOST)) break;
    }
    return fit;
}

/* Was the variant an earlier item's, so that its rows are made? */
static bool is_done(const Part *part, int before, const VariantChoice *choice) {
    for (int i = 0; i < before; i++)
        if (plan_item_variant(&part->items[i], choice)) return true;
    return false;
}

static Status run_variant(Run *run, const Part *part, int pass, const VariantChoice *wanted) {
    BatchRow *rows = calloc((size_t)part->count, sizeof *rows);
    int count = 0;
    if (!rows) return status_fail(STATUS_MEMORY, "no memory for the rows of a suite");
    for (int i = 0; i < part->count; i++) {
        const PlanItem *item = &part->items[i];
        const VariantChoice *choice = plan_item_variant(item, wanted);
        if (!choice || pass >= passes_of(item, part->emulated)) continue;
        rows[count++] = (BatchRow){.item = item, .choice = choice, .instance = &part->instances[part->first[i]]};
    }
    const Status status = batch_run(run, rows, count, part->emulated);
    free(rows);
    return status;
}

static Status run_pass(Run *run, const Part *part, int pass) {
    for (int i = 0; i < part->count; i++)
        for (int v = 0; v < part->items[i].variant_count; v++) {
            const VariantChoice *choice = &part->items[i].variants[v];
            if (run_emulates(run, choice) != part->emulated) continue;
            if (!is_done(part, i, choice)) TRY(run_variant(run, part, pass, choice));
        }
    return STATUS_OK;
}

static Status run_part(Run *run, Part *part) {
    int passes = 1;
    part->instances = calloc((size_t)part->count, sizeof *part->instances);
    part->first = calloc((size_t)part->count, sizeof *part->first);
    Status status = part->instances && part->first ? STATUS_OK : status_fail(STATUS_MEMORY, "no memory for %d cases", part->count);
    for (int i = 0; i < part->count && status == STATUS_OK; i++) {
        part->first[i] = first_of_case(part->items, i, part->emulated);
        if (passes_of(&part->items[i], part->emulated) > passes) passes = part->items[i].processes;
    }
    for (int pass = 0; pass < passes && status == STATUS_OK; pass++) status = run_pass(run, part, pass);
    for (int i = 0; i < part->count && part->instances; i++)
        if (part->instances[i].op) instance_destroy(&part->instances[i]);
    free(part->instances);
    free(part->first);
    return status;
}

/* Has the part a row that is emulated, or one that is not? */
static bool has_emulated(const Run *run, const Part *part, bool emulated) {
    for (const PlanItem *item = part->items; item < part->items + part->count; item++)
        for (int v = 0; v < item->variant_count; v++)
            if (run_emulates(run, &item->variants[v]) == emulated) return true;
    return false;
}

/* Without a GPU the CUDA variants run the scenario's smaller case in the emulator; everything else runs the case itself. */
static Status run_parts(Run *run, const PlanItem *items, int count, bool emulated) {
    for (int i = 0; i < count;) {
        Part part = {.items = &items[i], .count = fitting(&items[i], count - i, emulated), .emulated = emulated};
        if (has_emulated(run, &part, emulated)) TRY(run_part(run, &part));
        i += part.count;
    }
    return STATUS_OK;
}

/* Some items of the plan: one suite after the other. */
static Status run_suites(Run *run, const PlanItem *items, int item_count) {
    for (int i = 0, count = 1; i < item_count; i += count, count = 1) {
        while (i + count < item_count && plan_same_suite(&items[i], &items[i + count])) count++;
        TRY(run_parts(run, &items[i], count, false));
        TRY(run_parts(run, &items[i], count, true));
    }
    return STATUS_OK;
}

/* What was put off, each row's processes one after the other. */
static Status run_later(Run *run) {
    const Later *later = &run->later;
    Status status = STATUS_OK;
    later_begin(&run->later);
    for (int i = 0; i < later->count && status == STATUS_OK;) {
        const LaterRow *row = &later->rows[i];
        Instance instance = {0};
        for (; i < later->count && later->rows[i].item == row->item && status == STATUS_OK; i++)
            status =
                batch_run(run, &(BatchRow){.item = row->item, .choice = later->rows[i].choice, .instance = &instance}, 1, false);
        if (instance.op) instance_destroy(&instance);
    }
    return status;
}

Status suites_run(Run *run) {
    TRY(schedule_run(run->plan, run, run_suites));
    return run_later(run);
}
