#include "pipeline/batch.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "pipeline/profile.h"
#include "pipeline/rows.h"

#include <stdlib.h>

static const double SERVE_SECONDS = 20; /* what a killed run loses of a worker's rows at most, and the row under way */

typedef struct Batch {
    Run *run;
    BatchRow *rows;
    bool emulated, shared;
    Host host;
    int first, next; /* rows of the present worker: [first, next); those that were left out have no `row` */
    double since;    /* when it started */
    Counter counter; /* of the variant's rows */
} Batch;

static Session session_of(const Batch *batch, const BatchRow *row) {
    const Run *run = batch->run;
    return (Session){.choice = row->choice,
                     .item = row->item,
                     .problem = plan_item_case(row->item, batch->emulated),
                     .options = run->options,
                     .emulated = batch->emulated,
                     .no_gpu_reason = run->summary->has_gpu ? NULL : run->summary->no_gpu_reason,
                     .limits = run->limits,
                     .deadline = run_deadline(run)};
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
static Status begin_row(const Batch *batch, const BatchRow *row) {
    row_free(row->row);
    return row_begin(batch->run->id, row->item, plan_item_case(row->item, batch->emulated), row->choice, batch->emulated, row->row);
}

/* *out: is it left out? The file has it, the budget is spent, or it is put off. */
static Status leave_out(Batch *batch, BatchRow *row, bool *out) {
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

static void drop_row(BatchRow *row) {
    if (row->row) row_free(row->row);
    free(row->row);
    row->row = NULL;
}

/* row->row is NULL afterwards if it is left out. */
static Status begin(Batch *batch, BatchRow *row) {
    bool out = false;
    row->row = calloc(1, sizeof *row->row);
    if (!row->row) return status_fail(STATUS_MEMORY, "no memory for a row");
    TRY(begin_row(batch, row));
    TRY(leave_out(batch, row, &out));
    if (out) drop_row(row);
    return STATUS_OK;
}

static Status evaluate_row(Batch *batch, Host *host, BatchRow *row) {
    Run *run = batch->run;
    const Session session = session_of(batch, row);
    const double begin = clock_seconds();
    if (run->executed == 0) run->first_row = begin;
    run_tell(run, run->options->begin, row->index, &(RunEvent){.row = row->row});
    TRY(interrupt_check());
    TRY(evaluate(row->instance, &session, host, row->row, &row->evaluated));
    TRY(interrupt_check()); /* what became of the row is the interruption's doing */
    row->seconds += clock_seconds() - begin;
    return STATUS_OK;
}

/* Its verdict is known, or waits for what follows the worker's good end. */
static Status write_row(Batch *batch, BatchRow *row, bool shared) {
    Run *run = batch->run;
    const Session session = session_of(batch, row);
    const double begin = clock_seconds();
    if (row->evaluated.pending) TRY(evaluate_finish(row->instance, &session, row->evaluated.bound, &batch->counter, row->row));
    TRY(interrupt_check());
    if (row->evaluated.served) row->row->worker = shared ? WORKER_SHARED : WORKER_FRESH;
    row->row->seconds_spent = row->seconds + clock_seconds() - begin;
    TRY(resume_took(&run->done, row->row));
    json_t *line = row_json(row->row);
    const Status status = rowfile_append(run->file, line);
    json_decref(line);
    TRY(status);
    count(run->summary, row->row);
    run_tell(run, run->options->report, row->index, &(RunEvent){.row = row->row, .refused = row->evaluated.refused});
    return STATUS_OK;
}

/* ---- Workers. */

/* Its last reply, exit handlers, exit code, processes that it leaves. The row pays for the wait. */
static Status end_host(const Batch *batch, Host *host, BatchRow *last) {
    const double begin = clock_seconds();
    const Status status = child_end(host->child, batch->run->options->timeout_seconds);
    child_stop(host->child);
    *host = (Host){0};
    last->seconds += clock_seconds() - begin;
    return status;
}

/* In a worker of its own. */
static Status repeat(Batch *batch, BatchRow *row) {
    Host host = {0};
    TRY(begin_row(batch, row));
    const Status status = evaluate_row(batch, &host, row);
    if (status == STATUS_OK && row->evaluated.pending && end_host(batch, &host, row) != STATUS_OK) {
        TRY(interrupt_check());
        row->evaluated.pending = false;
        row_decide(row->row, VERDICT_ERROR, status_message());
    }
    child_stop(host.child);
    TRY(status);
    return write_row(batch, row, false);
}

/* Writes the rows of the worker that has ended. A row is as good as its worker's end; where other rows may have to do with it, each
 * is made again, alone. */
static Status write_rows(Batch *batch, bool ended_well) {
    const BatchRow *last = &batch->rows[batch->next - 1];
    int served = 0;
    for (int i = batch->first; i < batch->next; i++) served += batch->rows[i].row && batch->rows[i].evaluated.served;
    for (int i = batch->first; i < batch->next; i++) {
        BatchRow *row = &batch->rows[i];
        if (!row->row) continue;
        const bool broke = row == last && row->evaluated.served && row->row->verdict == VERDICT_ERROR;
        if (!ended_well && served > 1 && (row->evaluated.pending || broke))
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
    BatchRow *last = &batch->rows[batch->next - 1];
    const bool broke = last->row && last->evaluated.served && last->row->verdict == VERDICT_ERROR;
    const size_t served = batch->host.served;
    const bool runs = batch->host.child && !broke;
    const Status status = runs ? end_host(batch, &batch->host, last) : STATUS_OK;
    TRY(interrupt_check());
    child_stop(batch->host.child); /* what broke is not asked how it ends */
    batch->host = (Host){0};
    if (status != STATUS_OK && served == 1 && last->evaluated.pending) {
        last->evaluated.pending = false;
        row_decide(last->row, VERDICT_ERROR, status_message());
    }
    return write_rows(batch, status == STATUS_OK && !broke);
}

static Status serve(Batch *batch, BatchRow *row) {
    if (row->item->first_call && batch->host.served > 0) TRY(close_host(batch)); /* a worker has one */
    TRY(begin(batch, row));
    batch->next++;
    if (!row->row) return STATUS_OK;
    if (!batch->host.child) batch->since = clock_seconds();
    TRY(evaluate_row(batch, &batch->host, row));
    batch->run->executed++;
    const bool goes_on =
        batch->shared && (!row->evaluated.served || batch->host.reusable) && clock_seconds() < batch->since + SERVE_SECONDS;
    return goes_on ? STATUS_OK : close_host(batch);
}

Status batch_run(Run *run, BatchRow *rows, int count, bool emulated) {
    Batch batch = {.run = run, .rows = rows, .emulated = emulated, .shared = run->options->shared_workers && !emulated};
    if (run->options->shared_workers) batch.counter.known = &run->done;
    Status status = STATUS_OK;
    for (int i = 0; i < count && status == STATUS_OK; i++) status = serve(&batch, &rows[i]);
    if (status == STATUS_OK) status = close_host(&batch);
    child_stop(batch.host.child);
    child_stop(batch.counter.child);
    for (int i = 0; i < count; i++) drop_row(&rows[i]);
    return status;
}
