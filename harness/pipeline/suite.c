#include "pipeline/run.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/process.h"
#include "device/confine.h"
#include "device/sandbox.h"
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
    VariantWorker worker;
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

void summary_count(RunSummary *summary, Verdict verdict, bool timed, bool emulated) {
    size_t *const OF_VERDICT[] = {[VERDICT_FAIL] = &summary->failed,
                                  [VERDICT_PASS] = &summary->passed,
                                  [VERDICT_SKIP] = &summary->skipped,
                                  [VERDICT_ERROR] = &summary->errors};
    ++*OF_VERDICT[verdict];
    summary->timed += timed;
    summary->emulated += verdict == VERDICT_PASS && emulated;
}

/* As before its variant runs. */
static Status begin_row(const Batch *batch, const Session *row) {
    row_free(row->row);
    return row_begin(batch->run->id, row->item, row->problem, row->choice, row->emulated, row->row);
}

static void drop_row(Session *row) {
    if (row->row) row_free(row->row);
    free(row->row);
    row->row = NULL;
}

/* row->row is NULL afterwards if it is left out: the file has it, the budget is spent, or it is put off. */
static Status begin(Batch *batch, Session *row) {
    Run *run = batch->run;
    ResumeAnswer answer;
    row->row = calloc(1, sizeof *row->row);
    if (!row->row) return status_fail(STATUS_MEMORY, "no memory for a row");
    TRY(begin_row(batch, row));
    row->index = ++run->index;
    TRY(resume_ask(&run->done, row->row, &answer));
    const double took = resume_seconds(&run->done, row->row);
    const bool wanted = answer == RESUME_RUN,
               spent = clock_seconds() + took > run_deadline(run) && run->executed >= run->options->least_rows;
    if (wanted && !spent && !later_waits(&run->later, row->item, took)) return STATUS_OK;
    drop_row(row);
    run->summary->resumed += answer == RESUME_DONE;
    run->summary->repeated += answer == RESUME_REPEATED;
    run->summary->left_by_budget += wanted && spent;
    if (!wanted || spent) return STATUS_OK;
    run->index--; /* its turn comes */
    return later_add(&run->later, &(LaterRow){row->item, row->choice, took});
}

static Status evaluate_row(Batch *batch, VariantWorker *worker, Session *row) {
    Run *run = batch->run;
    const double begin = clock_seconds();
    if (run->executed == 0) run->first_row = begin;
    run_tell(run, run->options->begin, row->index, &(RunEvent){.row = row->row});
    TRY(interrupt_check());
    TRY(evaluate(row, worker));
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
    row->row->confined = confine_available() && !confine_shared();
    row->row->sandboxed = sandbox_used();
    row->row->on_gpu = session_on_gpu(row->choice->entry, row->emulated) && row->opened;
    row->row->gpu_index = run->gpu_index, row->row->gpu_uuid = *run->gpu_uuid ? run->gpu_uuid : NULL;
    row->row->seconds_spent = row->seconds + clock_seconds() - begin;
    TRY(resume_took(&run->done, row->row));
    json_t *line = row_json(row->row);
    const Status status = run->share ? devices_write(run, row, line) : rowfile_append(run->file, line);
    json_decref(line);
    TRY(status);
    summary_count(run->summary, row->row->verdict, row->row->timed, row->row->emulated);
    run_tell(run, run->options->report, row->index, &(RunEvent){.row = row->row, .refused = row->refused});
    return STATUS_OK;
}

/* ---- Workers. */

/* Its last reply, exit handlers, exit code, processes that it leaves. The row pays for the wait. */
static Status end_worker(const Batch *batch, VariantWorker *worker, Session *last) {
    const double begin = clock_seconds();
    const Status status = child_end(worker->child, batch->run->options->timeout_seconds);
    child_stop(worker->child);
    *worker = (VariantWorker){0};
    last->seconds += clock_seconds() - begin;
    return status;
}

/* In a worker of its own. */
static Status repeat(Batch *batch, Session *row) {
    VariantWorker worker = {0};
    TRY(begin_row(batch, row));
    const Status status = evaluate_row(batch, &worker, row);
    if (status == STATUS_OK && row->pending && end_worker(batch, &worker, row) != STATUS_OK) {
        TRY(interrupt_check());
        row->pending = false;
        row_decide(row->row, VERDICT_ERROR, status_message());
    }
    child_stop(worker.child);
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
static Status close_worker(Batch *batch) {
    if (batch->first == batch->next) return STATUS_OK;
    Session *last = &batch->rows[batch->next - 1];
    const bool broke = last->row && last->opened && last->row->verdict == VERDICT_ERROR;
    const size_t served = batch->worker.served;
    const bool runs = batch->worker.child && !broke;
    const Status status = runs ? end_worker(batch, &batch->worker, last) : STATUS_OK;
    TRY(interrupt_check());
    child_stop(batch->worker.child); /* what broke is not asked how it ends */
    batch->worker = (VariantWorker){0};
    if (status != STATUS_OK && served == 1 && last->pending) {
        last->pending = false;
        row_decide(last->row, VERDICT_ERROR, status_message());
    }
    return write_rows(batch, status == STATUS_OK && !broke);
}

static Status serve(Batch *batch, Session *row) {
    if (row->item->first_call && batch->worker.served > 0) TRY(close_worker(batch)); /* a worker has one */
    TRY(begin(batch, row));
    batch->next++;
    if (!row->row) return STATUS_OK;
    if (!batch->worker.child) batch->since = clock_seconds();
    TRY(evaluate_row(batch, &batch->worker, row));
    batch->run->executed++;
    const bool goes_on =
        batch->shared && (!row->opened || batch->worker.reusable) && clock_seconds() < batch->since + SERVE_SECONDS;
    return goes_on ? STATUS_OK : close_worker(batch);
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
    if (status == STATUS_OK) status = close_worker(&batch);
    child_stop(batch.worker.child);
    child_stop(batch.counter.child);
    for (int i = 0; i < count; i++) drop_row(&rows[i]);
    return status;
}

/* ---- Suites. */

static const size_t MEMORY_SHARE = 3; /* a suite takes at most the third of the host's memory that is free */
static const int FILES_MOST = 256;    /* that it has open: descriptors are often limited to 1024 */

/* Consecutive items of one scenario and op, in memory together. */
typedef struct Suite {
    const PlanItem *items;
    int count;
    int *first;          /* for each item the first one of its case */
    Instance *instances; /* of those, created when a row needs them */
    bool emulated;
} Suite;

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

/* How many items from the first on make a suite: one at least. */
static int fitting(const PlanItem *items, int count, bool emulated, size_t beside) {
    const size_t available = hostmemory_available_bytes(), most = available ? available / (MEMORY_SHARE * beside) : SIZE_MAX;
    size_t bytes = 0;
    int files = 0, fit = 0;
    for (; fit < count; fit++) {
        Instance shapes;
        if (items[fit].variant_count == 0 || first_of_case(items, fit, emulated) < fit) continue;
        if (instance_shapes(plan_item_case(&items[fit], emulated), &shapes) != STATUS_OK) continue;
        bytes += instance_bytes(&shapes);
        files += (DATA_VARIED + MODE_FIRST) * shapes.op->in_count + shapes.op->out_count;
        if (fit > 0 && (bytes > most || files > FILES_MOST)) break;
    }
    return fit;
}

/* Was the variant an earlier item's, so that its rows are made? */
static bool is_done(const Suite *suite, int before, const VariantChoice *choice) {
    for (int i = 0; i < before; i++)
        if (variant_choice_find(suite->items[i].variants, suite->items[i].variant_count, choice)) return true;
    return false;
}

static Status run_variant(Run *run, const Suite *suite, int pass, const VariantChoice *wanted) {
    Session *rows = calloc((size_t)suite->count, sizeof *rows);
    int count = 0;
    if (!rows) return status_fail(STATUS_MEMORY, "no memory for the rows of a suite");
    for (int i = 0; i < suite->count; i++) {
        const PlanItem *item = &suite->items[i];
        const VariantChoice *choice = variant_choice_find(item->variants, item->variant_count, wanted);
        if (!choice || pass >= passes_of(item, suite->emulated)) continue;
        rows[count] = session_of(run, item, choice, &suite->instances[suite->first[i]], suite->emulated);
        rows[count++].further = pass > 0;
    }
    const Status status = batch_run(run, rows, count);
    free(rows);
    return status;
}

static Status run_suite(Run *run, Suite *suite) {
    int passes = 1;
    suite->instances = calloc((size_t)suite->count, sizeof *suite->instances);
    suite->first = calloc((size_t)suite->count, sizeof *suite->first);
    Status status =
        suite->instances && suite->first ? STATUS_OK : status_fail(STATUS_MEMORY, "no memory for %d cases", suite->count);
    for (int i = 0; i < suite->count && status == STATUS_OK; i++) {
        suite->first[i] = first_of_case(suite->items, i, suite->emulated);
        if (passes_of(&suite->items[i], suite->emulated) > passes) passes = suite->items[i].processes;
    }
    for (int pass = 0; pass < passes; pass++)
        for (int i = 0; i < suite->count; i++)
            for (int v = 0; v < suite->items[i].variant_count && status == STATUS_OK; v++) {
                const VariantChoice *choice = &suite->items[i].variants[v];
                if (emulates(run, choice) == suite->emulated && !is_done(suite, i, choice))
                    status = run_variant(run, suite, pass, choice);
            }
    for (int i = 0; i < suite->count && suite->instances; i++)
        if (suite->instances[i].op) instance_destroy(&suite->instances[i]);
    free(suite->instances);
    free(suite->first);
    return status;
}

/* Some items of the plan: one suite after the other. Without a GPU the CUDA variants run the
 * scenario's smaller case in the emulator; everything else runs the case itself. */
static Status run_suites(Run *run, const PlanItem *items, int item_count) {
    for (int i = 0, count = 1; i < item_count; i += count, count = 1) {
        while (i + count < item_count && plan_same_suite(&items[i], &items[i + count])) count++;
        for (int emulated = 0; emulated < 2; emulated++)
            for (int done = 0; done < count;) {
                Suite suite = {.items = &items[i + done], .emulated = emulated};
                suite.count = fitting(suite.items, count - done, suite.emulated, run->beside > 1 ? (size_t)run->beside : 1);
                TRY(run_suite(run, &suite));
                done += suite.count;
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
            session.further = true;
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
