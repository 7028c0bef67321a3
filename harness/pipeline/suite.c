#include "pipeline/run.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/process.h"
#include "device/confine.h"
#include "pipeline/evaluate.h"
#include "plan/case.h"

#include <stdlib.h>
#include <string.h>

/* ---- A batch: the rows of one variant on several cases: what one worker serves, if it can. */

static const double SERVE_SECONDS = 20; /* what a killed run loses of a worker's rows at most, and the row under way */

typedef struct Batch {
    Run *run;
    Session *rows;
    bool shared;
    Host host;
    int first, next; /* rows of the present worker: [first, next); those that were left out have no `row` */
    double since;    /* when it started */
    Counter counter; /* of the variant's rows */
} Batch;

static Session session_of(const Run *run, const PlanItem *item, const VariantChoice *choice, Instance *instance, bool emulated) {
    return (Session){.choice = choice,
                     .item = item,
                     .problem = plan_item_case(item, emulated),
                     .options = run->options,
                     .emulated = emulated,
                     .no_gpu_reason = run->summary->has_gpu ? NULL : run->summary->no_gpu_reason,
                     .limits = run->limits,
                     .deadline = run_deadline(run),
                     .instance = instance};
}

/* ---- One row. */

static void count(RunSummary *summary, const Row *row) {
    size_t *const OF_VERDICT[] = {[VERDICT_FAIL] = &summary->failed,
                                  [VERDICT_PASS] = &summary->passed,
                                  [VERDICT_SKIP] = &summary->skipped,
                                  [VERDICT_ERROR] = &summary->errors};
    ++*OF_VERDICT[row->verdict];
    summary->timed += row->timed;
    summary->emulated += row->verdict == VERDICT_PASS && row->emulated;
}

/* As before its variant runs. */
static Status begin_row(const Batch *batch, const Session *row) {
    row_free(row->row);
    return row_begin(batch->run->id, row->item, row->problem, row->choice, row->emulated, row->row);
}

/* *out: is it left out? The file has it, the budget is spent, or it is put off. */
static Status leave_out(Batch *batch, Session *row, bool *out) {
    Run *run = batch->run;
    row->index = ++run->index;
    *out = true;
    ResumeAnswer answer;
    TRY(resume_ask(&run->done, row->row, &answer));
    run->summary->resumed += answer == RESUME_DONE;
    run->summary->repeated += answer == RESUME_REPEATED;
    if (answer != RESUME_RUN) return STATUS_OK;
    const double took = resume_seconds(&run->done, row->row);
    if (clock_seconds() + took > run_deadline(run) && run->executed >= run->options->least_rows) {
        run->summary->left_by_budget++;
        return STATUS_OK;
    }
    if (later_waits(&run->later, row->item, took)) {
        run->index--; /* its turn comes */
        return later_add(&run->later, &(LaterRow){row->item, row->choice, took});
    }
    *out = false;
    return resume_ran(&run->done, row->row);
}

static void drop_row(Session *row) {
    if (row->row) row_free(row->row);
    free(row->row);
    row->row = NULL;
}

/* row->row is NULL afterwards if it is left out. */
static Status begin(Batch *batch, Session *row) {
    bool out = false;
    row->row = calloc(1, sizeof *row->row);
    if (!row->row) return status_fail(STATUS_MEMORY, "no memory for a row");
    TRY(begin_row(batch, row));
    TRY(leave_out(batch, row, &out));
    if (out) drop_row(row);
    return STATUS_OK;
}

static Status evaluate_row(Batch *batch, Host *host, Session *row) {
    Run *run = batch->run;
    const double begin = clock_seconds();
    if (run->executed == 0) run->first_row = begin;
    run_tell(run, run->options->begin, row->index, &(RunEvent){.row = row->row});
    TRY(interrupt_check());
    TRY(evaluate(row, host));
    TRY(interrupt_check()); /* what became of the row is the interruption's doing */
    row->seconds += clock_seconds() - begin;
    return STATUS_OK;
}

/* Its verdict is known, or waits for what follows the worker's good end. */
static Status write_row(Batch *batch, Session *row, bool shared) {
    Run *run = batch->run;
    const double begin = clock_seconds();
    if (row->pending) finish_row(row, &batch->counter);
    TRY(interrupt_check());
    if (row->opened) row->row->worker = shared ? WORKER_SHARED : WORKER_FRESH;
    row->row->confined = confine_available();
    row->row->seconds_spent = row->seconds + clock_seconds() - begin;
    TRY(resume_took(&run->done, row->row));
    json_t *line = row_json(row->row);
    const Status status = rowfile_append(run->file, line);
    json_decref(line);
    TRY(status);
    count(run->summary, row->row);
    run_tell(run, run->options->report, row->index, &(RunEvent){.row = row->row, .refused = row->refused});
    return STATUS_OK;
}

/* ---- Workers. */

/* Its last reply, exit handlers, exit code, processes that it leaves. The row pays for the wait. */
static Status end_host(const Batch *batch, Host *host, Session *last) {
    const double begin = clock_seconds();
    const Status status = child_end(host->child, batch->run->options->timeout_seconds);
    child_stop(host->child);
    *host = (Host){0};
    last->seconds += clock_seconds() - begin;
    return status;
}

/* In a worker of its own. */
static Status repeat(Batch *batch, Session *row) {
    Host host = {0};
    TRY(begin_row(batch, row));
    const Status status = evaluate_row(batch, &host, row);
    if (status == STATUS_OK && row->pending && end_host(batch, &host, row) != STATUS_OK) {
        TRY(interrupt_check());
        row->pending = false;
        row_decide(row->row, VERDICT_ERROR, status_message());
    }
    child_stop(host.child);
    TRY(status);
    return write_row(batch, row, false);
}

/* Writes the rows of the worker that has ended. A row is as good as its worker's end; where other rows may have to do with it, each
 * is made again, alone. */
static Status write_rows(Batch *batch, bool ended_well) {
    const Session *last = &batch->rows[batch->next - 1];
    int served = 0;
    for (int i = batch->first; i < batch->next; i++) served += batch->rows[i].row && batch->rows[i].opened;
    for (int i = batch->first; i < batch->next; i++) {
        Session *row = &batch->rows[i];
        if (!row->row) continue;
        const bool broke = row == last && row->opened && row->row->verdict == VERDICT_ERROR;
        if (!ended_well && served > 1 && (row->pending || broke))
            TRY(repeat(batch, row));
        else
            TRY(write_row(batch, row, served > 1));
    }
    batch->first = batch->next;
    return STATUS_OK;
}

/* Ends the present worker, if there is one. */
static Status close_host(Batch *batch) {
    if (batch->first == batch->next) return STATUS_OK;
    Session *last = &batch->rows[batch->next - 1];
    const bool broke = last->row && last->opened && last->row->verdict == VERDICT_ERROR;
    const size_t served = batch->host.served;
    const bool runs = batch->host.child && !broke;
    const Status status = runs ? end_host(batch, &batch->host, last) : STATUS_OK;
    TRY(interrupt_check());
    child_stop(batch->host.child); /* what broke is not asked how it ends */
    batch->host = (Host){0};
    if (status != STATUS_OK && served == 1 && last->pending) {
        last->pending = false;
        row_decide(last->row, VERDICT_ERROR, status_message());
    }
    return write_rows(batch, status == STATUS_OK && !broke);
}

static Status serve(Batch *batch, Session *row) {
    if (row->item->first_call && batch->host.served > 0) TRY(close_host(batch)); /* a worker has one */
    TRY(begin(batch, row));
    batch->next++;
    if (!row->row) return STATUS_OK;
    if (!batch->host.child) batch->since = clock_seconds();
    TRY(evaluate_row(batch, &batch->host, row));
    batch->run->executed++;
    const bool goes_on = batch->shared && (!row->opened || batch->host.reusable) && clock_seconds() < batch->since + SERVE_SECONDS;
    return goes_on ? STATUS_OK : close_host(batch);
}

/* Makes and writes the rows, in their order within each worker. A worker serves one case after the other for 20 s, until a case
 * fails or leaves something behind (session_end()), or until all are served. Its passing rows are written once it has ended well.
 * If it has not, each of them is made again in a worker of its own, so that the fault is reported in the row that causes it. A row
 * that ends with an error in a worker that had served others is made again in the same way. In the emulator there is one worker per
 * row. */
static Status batch_run(Run *run, Session *rows, int count) {
    Batch batch = {.run = run, .rows = rows, .shared = run->options->shared_workers && !rows[0].emulated};
    if (run->options->shared_workers) batch.counter.known = &run->done;
    Status status = STATUS_OK;
    for (int i = 0; i < count && status == STATUS_OK; i++) status = serve(&batch, &rows[i]);
    if (status == STATUS_OK) status = close_host(&batch);
    child_stop(batch.host.child);
    child_stop(batch.counter.child);
    for (int i = 0; i < count; i++) drop_row(&rows[i]);
    return status;
}

/* ---- Suites. */

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

/* In the emulator instead of on a GPU? */
static bool emulates(const Run *run, const VariantChoice *choice) {
    return is_emulated(choice, run->options->emulator, run->summary->has_gpu);
}

size_t suites_rows(const Run *run) {
    size_t rows = 0;
    for (int i = 0; i < run->plan->item_count; i++) {
        const PlanItem *item = &run->plan->items[i];
        for (int v = 0; v < item->variant_count; v++) rows += (size_t)passes_of(item, emulates(run, &item->variants[v]));
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
    for (; fit < count; fit++) {
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
    Session *rows = calloc((size_t)part->count, sizeof *rows);
    int count = 0;
    if (!rows) return status_fail(STATUS_MEMORY, "no memory for the rows of a suite");
    for (int i = 0; i < part->count; i++) {
        const PlanItem *item = &part->items[i];
        const VariantChoice *choice = plan_item_variant(item, wanted);
        if (!choice || pass >= passes_of(item, part->emulated)) continue;
        rows[count++] = session_of(run, item, choice, &part->instances[part->first[i]], part->emulated);
    }
    const Status status = batch_run(run, rows, count);
    free(rows);
    return status;
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
    for (int pass = 0; pass < passes; pass++)
        for (int i = 0; i < part->count; i++)
            for (int v = 0; v < part->items[i].variant_count && status == STATUS_OK; v++) {
                const VariantChoice *choice = &part->items[i].variants[v];
                if (emulates(run, choice) == part->emulated && !is_done(part, i, choice))
                    status = run_variant(run, part, pass, choice);
            }
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
            if (emulates(run, &item->variants[v]) == emulated) return true;
    return false;
}

/* Some items of the plan: one suite after the other, in parts that fit into memory. Without a GPU the CUDA variants run the
 * scenario's smaller case in the emulator; everything else runs the case itself. */
static Status run_suites(Run *run, const PlanItem *items, int item_count) {
    for (int i = 0, count = 1; i < item_count; i += count, count = 1) {
        while (i + count < item_count && plan_same_suite(&items[i], &items[i + count])) count++;
        for (int emulated = 0; emulated < 2; emulated++)
            for (int done = 0; done < count;) {
                Part part = {.items = &items[i + done], .emulated = emulated};
                part.count = fitting(part.items, count - done, part.emulated);
                if (has_emulated(run, &part, part.emulated)) TRY(run_part(run, &part));
                done += part.count;
            }
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
        for (; i < later->count && later->rows[i].item == row->item && status == STATUS_OK; i++) {
            Session session = session_of(run, row->item, later->rows[i].choice, &instance, false);
            status = batch_run(run, &session, 1);
        }
        if (instance.op) instance_destroy(&instance);
    }
    return status;
}

Status suites_run(Run *run) {
    TRY(schedule_run(run, run_suites));
    return run_later(run);
}
