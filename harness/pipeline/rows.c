/* rows.c - the rows of a plan: which items are in memory together, which worker serves which session, when a row is written. */
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

/* ---- The workers of one variant, one after the other: each serves as many of its sessions as it can. */

static const double SERVE_SECONDS = 20;      /* what a killed run loses of a worker's rows at most, and the row under way */
static const double SERVE_FIRST_SECONDS = 5; /* who starts a run is shown its first row soon */

typedef struct Workers {
    Run *run;
    Session *sessions;
    bool shared;
    VariantWorker worker; /* the present one */
    int first, next;      /* its sessions: [first, next); those that were left out have no `row` */
    double until;         /* when it takes no further session, on the steady clock */
    Counter counter;      /* of the variant's rows */
} Workers;

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
static Status begin_row(const Workers *self, const Session *s) {
    row_free(s->row);
    return row_begin(self->run->id, s->item, s->problem, s->choice, s->emulated, s->row);
}

static void drop_row(Session *s) {
    if (s->row) row_free(s->row);
    free(s->row);
    s->row = NULL;
}

/* s->row is NULL afterwards if it is left out: the file has it, the budget is spent, or it is put off. */
static Status begin(Workers *self, Session *s) {
    Run *run = self->run;
    ResumeAnswer answer;
    s->row = calloc(1, sizeof *s->row);
    if (!s->row) return status_fail(STATUS_MEMORY, "no memory for a row");
    TRY(begin_row(self, s));
    s->index = ++run->index;
    TRY(resume_ask(&run->done, s->row, &answer));
    const double took = resume_seconds(&run->done, s->row);
    const bool wanted = answer == RESUME_RUN,
               spent = clock_seconds() + took > run_deadline(run) && run->executed >= run->options->least_rows;
    if (wanted && !spent && !later_waits(&run->later, s->item, took)) return STATUS_OK;
    drop_row(s);
    run->summary->resumed += answer == RESUME_DONE;
    run->summary->repeated += answer == RESUME_REPEATED;
    run->summary->left_by_budget += wanted && spent;
    if (!wanted || spent) return STATUS_OK;
    run->index--; /* its turn comes */
    return later_add(&run->later, &(LaterRow){s->item, s->choice, took});
}

static Status evaluate_row(Workers *self, VariantWorker *worker, Session *s) {
    Run *run = self->run;
    const double begin = clock_seconds();
    if (run->executed == 0) run->first_row = begin;
    run_event(run, run->options->begin, s->index, &(RunEvent){.row = s->row});
    TRY(interrupt_check());
    TRY(evaluate(s, worker));
    TRY(interrupt_check()); /* what became of the row is the interruption's doing */
    s->seconds += clock_seconds() - begin;
    return STATUS_OK;
}

/* Its verdict is known, or waits for what follows the worker's good end. */
static Status write_row(Workers *self, Session *s, bool shared) {
    Run *run = self->run;
    const double begin = clock_seconds();
    if (s->pending) finish_row(s, &self->counter);
    TRY(interrupt_check());
    if (s->opened) s->row->worker = shared ? WORKER_SHARED : WORKER_FRESH;
    s->row->confined = confine_available() && !confine_shared();
    s->row->sandboxed = sandbox_used();
    s->row->on_gpu = session_on_gpu(s->choice->entry, s->emulated) && s->opened;
    s->row->gpu_index = run->gpu_index, s->row->gpu_uuid = *run->gpu_uuid ? run->gpu_uuid : NULL;
    s->row->seconds_spent = s->seconds + clock_seconds() - begin;
    TRY(resume_took(&run->done, s->row));
    json_t *line = row_json(s->row);
    const Status status = run->write ? run->write(run, s, line) : rowfile_append(run->file, line);
    json_decref(line);
    TRY(status);
    summary_count(run->summary, s->row->verdict, s->row->timed, s->row->emulated);
    if (s->skipped && !*s->skipped && s->row->verdict == VERDICT_SKIP) *s->skipped = strdup(s->row->reason);
    run_event(run, run->options->report, s->index, &(RunEvent){.row = s->row, .refused = s->refused});
    return STATUS_OK;
}

/* ---- Workers. */

/* Its last reply, exit handlers, exit code, processes that it leaves. The row pays for the wait. */
static Status end_worker(const Workers *self, VariantWorker *worker, Session *last) {
    const double begin = clock_seconds();
    const Status status = child_end(worker->child, self->run->options->timeout_seconds);
    child_stop(worker->child);
    *worker = (VariantWorker){0};
    last->seconds += clock_seconds() - begin;
    return status;
}

/* In a worker of its own. */
static Status repeat(Workers *self, Session *s) {
    VariantWorker worker = {0};
    TRY(begin_row(self, s));
    const Status status = evaluate_row(self, &worker, s);
    if (status == STATUS_OK && s->pending && end_worker(self, &worker, s) != STATUS_OK) {
        TRY(interrupt_check());
        s->pending = false;
        row_decide(s->row, VERDICT_ERROR, status_message());
    }
    child_stop(worker.child);
    TRY(status);
    return write_row(self, s, false);
}

/* Writes the rows of the worker that has ended. A row is as good as its worker's end; where other rows may have to do with it, each
 * is made again, alone. */
static Status write_rows(Workers *self, bool ended_well) {
    const Session *last = &self->sessions[self->next - 1];
    int served = 0;
    for (int i = self->first; i < self->next; i++) served += self->sessions[i].row && self->sessions[i].opened;
    for (int i = self->first; i < self->next; i++) {
        Session *s = &self->sessions[i];
        if (!s->row) continue;
        const bool broke = s == last && s->opened && s->row->verdict == VERDICT_ERROR;
        if (!ended_well && served > 1 && (s->pending || broke))
            TRY(repeat(self, s));
        else
            TRY(write_row(self, s, served > 1));
    }
    self->first = self->next;
    return STATUS_OK;
}

/* Ends the present worker, if there is one. */
static Status close_worker(Workers *self) {
    if (self->first == self->next) return STATUS_OK;
    Session *last = &self->sessions[self->next - 1];
    const bool broke = last->row && last->opened && last->row->verdict == VERDICT_ERROR;
    const size_t served = self->worker.served;
    const bool runs = self->worker.child && !broke;
    const Status status = runs ? end_worker(self, &self->worker, last) : STATUS_OK;
    TRY(interrupt_check());
    child_stop(self->worker.child); /* what broke is not asked how it ends */
    self->worker = (VariantWorker){0};
    if (status != STATUS_OK && served == 1 && last->pending) {
        last->pending = false;
        row_decide(last->row, VERDICT_ERROR, status_message());
    }
    return write_rows(self, status == STATUS_OK && !broke);
}

static Status serve(Workers *self, Session *s) {
    if (s->item->first_call && self->worker.served > 0) TRY(close_worker(self)); /* a worker has one */
    TRY(begin(self, s));
    self->next++;
    if (!s->row) return STATUS_OK;
    if (!self->worker.child) self->until = clock_seconds() + (self->run->executed == 0 ? SERVE_FIRST_SECONDS : SERVE_SECONDS);
    TRY(evaluate_row(self, &self->worker, s));
    self->run->executed++;
    const bool goes_on = self->shared && (!s->opened || self->worker.reusable) && clock_seconds() < self->until;
    return goes_on ? STATUS_OK : close_worker(self);
}

/* Makes and writes the rows, in their order within each worker. A worker serves one case after the other for 20 s, until a case
 * fails or leaves something behind (session_end()), or until all are served. Its passing rows are written once it has ended well.
 * If it has not, each of them is made again in a worker of its own, so that the fault is reported in the row that causes it. A row
 * that ends with an error in a worker that had served others is made again in the same way. In the emulator there is one worker per
 * row. */
static Status run_sessions(Run *run, Session *sessions, int count) {
    Workers self = {.run = run, .sessions = sessions, .shared = run->options->shared_workers && !sessions[0].emulated};
    if (run->options->shared_workers) self.counter.known = &run->done;
    Status status = STATUS_OK;
    for (int i = 0; i < count && status == STATUS_OK; i++) status = serve(&self, &sessions[i]);
    if (status == STATUS_OK) status = close_worker(&self);
    child_stop(self.worker.child);
    child_stop(self.counter.child);
    for (int i = 0; i < count; i++) drop_row(&sessions[i]);
    return status;
}

/* ---- Items whose instances are in memory together. */

static const size_t MEMORY_SHARE = 3; /* they take at most the third of the host's memory that is free */
static const int FILES_MOST = 256;    /* that they have open: descriptors are often limited to 1024 */

/* Consecutive items of one scenario and op. */
typedef struct Items {
    const PlanItem *items;
    int count;
    int *first;          /* for each item the first one of its case */
    Instance *instances; /* of those, created when a row needs them */
    char ***skipped;     /* of each item's variants */
    bool emulated;
} Items;

static int processes_of(const PlanItem *item, bool emulated) {
    return emulated || item->processes < 1 ? 1 : item->processes;
}

/* In the emulator instead of on a GPU? */
static bool emulates(const Run *run, const VariantChoice *choice) {
    return is_emulated(choice, run->options->emulator, run->summary->has_gpu);
}

size_t rows_count(const Run *run) {
    size_t rows = 0;
    for (int i = 0; i < run->plan->item_count; i++) {
        const PlanItem *item = &run->plan->items[i];
        for (int v = 0; v < item->variant_count; v++) rows += (size_t)processes_of(item, emulates(run, &item->variants[v]));
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

/* How many items from the first on fit: one at least. */
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
static bool is_done(const Items *self, int before, const VariantChoice *choice) {
    for (int i = 0; i < before; i++)
        if (variant_choice_find(self->items[i].variants, self->items[i].variant_count, choice)) return true;
    return false;
}

static Status run_variant(Run *run, const Items *self, int process, const VariantChoice *wanted) {
    Session *sessions = calloc((size_t)self->count, sizeof *sessions);
    int count = 0;
    if (!sessions) return status_fail(STATUS_MEMORY, "no memory for the rows of a variant");
    for (int i = 0; i < self->count; i++) {
        const PlanItem *item = &self->items[i];
        const VariantChoice *choice = variant_choice_find(item->variants, item->variant_count, wanted);
        if (!choice || process >= processes_of(item, self->emulated)) continue;
        sessions[count] = session_of(run, item, choice, &self->instances[self->first[i]], self->emulated);
        sessions[count].skipped = &self->skipped[i][choice - item->variants];
        sessions[count++].further = process > 0;
    }
    const Status status = run_sessions(run, sessions, count);
    free(sessions);
    return status;
}

static Status items_open(Items *self) {
    self->instances = calloc((size_t)self->count, sizeof *self->instances);
    self->first = calloc((size_t)self->count, sizeof *self->first);
    self->skipped = calloc((size_t)self->count, sizeof *self->skipped);
    bool there = self->instances && self->first && self->skipped;
    for (int i = 0; i < self->count && there; i++) {
        self->skipped[i] = calloc((size_t)self->items[i].variant_count + 1, sizeof *self->skipped[i]);
        there = self->skipped[i] != NULL;
    }
    return there ? STATUS_OK : status_fail(STATUS_MEMORY, "no memory for %d cases", self->count);
}

static void items_close(Items *self) {
    for (int i = 0; i < self->count && self->instances; i++)
        if (self->instances[i].op) instance_destroy(&self->instances[i]);
    for (int i = 0; i < self->count && self->skipped; i++) {
        for (int v = 0; v < self->items[i].variant_count && self->skipped[i]; v++) free(self->skipped[i][v]);
        free(self->skipped[i]);
    }
    free(self->instances);
    free(self->first);
    free(self->skipped);
}

static Status run_together(Run *run, Items *self) {
    int processes = 1;
    Status status = items_open(self);
    for (int i = 0; i < self->count && status == STATUS_OK; i++) {
        self->first[i] = first_of_case(self->items, i, self->emulated);
        if (processes_of(&self->items[i], self->emulated) > processes) processes = self->items[i].processes;
    }
    for (int process = 0; process < processes; process++)
        for (int i = 0; i < self->count; i++)
            for (int v = 0; v < self->items[i].variant_count && status == STATUS_OK; v++) {
                const VariantChoice *choice = &self->items[i].variants[v];
                if (emulates(run, choice) == self->emulated && !is_done(self, i, choice))
                    status = run_variant(run, self, process, choice);
            }
    items_close(self);
    return status;
}

/* Some items of the plan, as many at once as fit. Without a GPU the CUDA variants run the
 * scenario's smaller case in the emulator; everything else runs the case itself. */
static Status run_items(Run *run, const PlanItem *items, int item_count) {
    for (int i = 0, count = 1; i < item_count; i += count, count = 1) {
        while (i + count < item_count && plan_same_suite(&items[i], &items[i + count])) count++;
        for (int emulated = 0; emulated < 2; emulated++)
            for (int done = 0; done < count;) {
                Items some = {.items = &items[i + done], .emulated = emulated};
                some.count = fitting(some.items, count - done, some.emulated, run->beside > 1 ? (size_t)run->beside : 1);
                TRY(run_together(run, &some));
                done += some.count;
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
            status = run_sessions(run, &session, 1);
        }
        if (instance.op) instance_destroy(&instance);
    }
    return status;
}

Status rows_run(Run *run) {
    TRY(schedule_run(run, run_items));
    return run_later(run);
}
