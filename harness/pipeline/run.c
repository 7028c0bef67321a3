/* run.c - the pipeline, one call per step. Every variant's fate is a row; a Status means that rungs itself could not go on. */
#include "pipeline/run.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/jsontext.h"
#include "base/memory.h"
#include "device/child.h"
#include "pipeline/evaluate.h"
#include "pipeline/foresee.h"
#include "pipeline/instance.h"
#include "pipeline/limits.h"
#include "pipeline/profile.h"
#include "pipeline/reference_worker.h"
#include "pipeline/refusal.h"
#include "pipeline/resume.h"
#include "pipeline/rows.h"
#include "plan/case.h"
#include "record/environment.h"
#include "record/row.h"
#include "record/steadiness.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct Run {
    const Plan *plan;
    const RunOptions *options;
    RunSummary *summary;
    RowFile *file;
    Resume done;
    Limits *limits;
    char id[64];
    double begin, first_row; /* when the run began, and its first row: the ceilings before that tell nothing of the rows' pace */
    bool refused;            /* the present row, by what is known of variant and machine alone */
    size_t index, executed;  /* rows passed by; rows run in this process */
} Run;

RunOptions run_options_default(void) {
    return (RunOptions){.timeout_seconds = 120, .min_samples = 9, .max_samples = 101, .seconds_per_mode = 1};
}

static void notice(const Run *run, const char *format, ...) {
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (run->options->notice) run->options->notice(run->options->context, text);
}

static void tell(const Run *run, void (*listener)(void *context, const RunEvent *event), const json_t *row) {
    if (!listener) return;
    const double present = clock_seconds(),
                 left = (double)(run->summary->total - run->index) + (listener == run->options->begin ? 1 : 0);
    double eta = run->executed ? (present - run->first_row) / (double)run->executed * left : 0;
    const double budget_left = run->begin + run->options->budget_seconds - present;
    if (run->options->budget_seconds > 0 && eta > budget_left) eta = budget_left > 0 ? budget_left : 0;
    const RunEvent event = {.index = run->index,
                            .total = run->summary->total,
                            .row = row,
                            .refused = run->refused,
                            .elapsed_seconds = present - run->begin,
                            .eta_seconds = eta};
    listener(run->options->context, &event);
}

/* One question to a fresh worker about a device rather than a variant. */
static Status ask_about_device(const Run *run, const char *what, const char *kind, json_t **reply) {
    Child *child = NULL;
    const char *const argv[] = {"/proc/self/exe", "worker", NULL};
    TRY(child_start(&(ChildOptions){.argv = argv}, &child));
    json_t *command = json_pack("{s:s, s:s, s:i}", "do", what, "kind", kind, "device", run->options->device);
    const Status status = child_ask(child, command, 300, reply);
    json_decref(command);
    child_stop(child);
    return status;
}

/* The floor under every time of the device: what an empty launch takes by the same clock. */
static void tell_floor(const Run *run, const char *kind, const json_t *ceilings) {
    size_t i;
    json_t *ceiling;
    json_array_foreach(ceilings, i, ceiling) {
        const char *name = json_string_value(json_object_get(ceiling, "name"));
        const json_t *value = json_object_get(ceiling, "value");
        if (name && strcmp(name, "empty_launch") == 0 && json_is_number(value))
            notice(run, "%s launch overhead: %.3g us (included in all cold times below)", kind, 1e6 * json_number_value(value));
    }
}

/* A device that cannot tell its limits is not an error. */
static Status record_ceilings(Run *run, const char *kind) {
    json_t *reply = NULL, *coming = json_pack("{s:s, s:s}", "kind", "ceilings", "device", kind);
    tell(run, run->options->begin, coming);
    json_decref(coming);
    const Status status = ask_about_device(run, "ceilings", kind, &reply);
    TRY(interrupt_check());
    if (status != STATUS_OK) {
        notice(run, "peaks of the %s not measured: %s", kind, status_message());
        return STATUS_OK;
    }
    tell_floor(run, kind, json_object_get(reply, "ceilings"));
    char warning[300];
    if (steadiness_ceilings(kind, json_object_get(reply, "ceilings"), warning, sizeof warning)) notice(run, "%s", warning);
    json_t *line = json_pack("{s:s, s:i, s:s, s:s, s:O}", "kind", "ceilings", "schema", ROW_SCHEMA_VERSION, "run", run->id,
                             "device", kind, "ceilings", json_object_get(reply, "ceilings"));
    const Status written = rowfile_append(run->file, line);
    json_decref(line);
    json_decref(reply);
    return written;
}

static bool plan_uses(const Plan *plan, Backend backend) {
    for (int i = 0; i < plan->item_count; i++)
        for (int v = 0; v < plan->items[i].variant_count; v++)
            if (plan->items[i].variants[v].entry->backend == backend) return true;
    return false;
}

static Status record_circumstances(Run *run) {
    json_t *facts = NULL;
    if (run->summary->has_gpu && ask_about_device(run, "facts", "cuda", &facts) != STATUS_OK)
        notice(run, "cannot query the GPU: %s", status_message());
    json_t *environment = environment_json(run->options->argc, run->options->argv,
                                           run->summary->has_gpu ? run->options->device : -1, json_object_get(facts, "gpu"));
    json_decref(facts);
    if (!environment) return status_fail(STATUS_MEMORY, "no memory for the environment");
    if (interrupt_pending()) { /* programs that were asked for facts ended early */
        json_decref(environment);
        return interrupt_check();
    }
    json_object_set_new(environment, "run", json_string(run->id));
    char warning[300];
    const bool busy = steadiness_load(environment, warning, sizeof warning),
               timed = !run->options->verify_only && strcmp(RUNGS_BUILD_TYPE, "Release") == 0;
    if (busy && timed) notice(run, "%s", warning);
    const Status status = rowfile_append(run->file, environment);
    json_decref(environment);
    TRY(status);
    if (!timed || run->options->no_ceilings) return STATUS_OK;
    if (run->summary->has_gpu && (plan_uses(run->plan, BACKEND_CUDA) || plan_uses(run->plan, BACKEND_PEER)))
        TRY(record_ceilings(run, "cuda"));
    if (plan_uses(run->plan, BACKEND_CPU) || plan_uses(run->plan, BACKEND_PEER)) TRY(record_ceilings(run, "cpu"));
    return STATUS_OK;
}

static void count(RunSummary *summary, const json_t *row) {
    const char *verdict = text_of(row, "verdict");
    if (strcmp(verdict, "pass") == 0)
        summary->passed++;
    else if (strcmp(verdict, "fail") == 0)
        summary->failed++;
    else if (strcmp(verdict, "skip") == 0)
        summary->skipped++;
    else
        summary->errors++;
    if (json_is_object(json_object_get(row, "timing"))) summary->timed++;
    if (strcmp(verdict, "pass") == 0 && strcmp(text_of(row, "backend"), "emulator") == 0) summary->emulated++;
}

static bool is_emulated(const Run *run, const VariantChoice *choice) {
    return foresee_emulated(choice, run->options->emulator, run->summary->has_gpu);
}

static double deadline(const Run *run) {
    return run->options->budget_seconds > 0 ? run->begin + run->options->budget_seconds : INFINITY;
}

static Status execute_row(Run *run, const Session *session, Instance *instance, json_t *row) {
    const double begin = clock_seconds();
    if (run->executed == 0) run->first_row = begin;
    tell(run, run->options->begin, row);
    TRY(interrupt_check());
    TRY(evaluate(instance, session, row, &run->refused));
    TRY(interrupt_check()); /* what became of the row is the interruption's doing */
    json_object_set_new(row, "seconds_spent", json_real(clock_seconds() - begin));
    TRY(rowfile_append(run->file, row));
    run->executed++;
    count(run->summary, row);
    tell(run, run->options->report, row);
    return STATUS_OK;
}

/* One variant: from nothing to a written row. *instance is created when the first variant needs it. */
static Status run_row(Run *run, const PlanItem *item, const VariantChoice *choice, Instance *instance) {
    const Session session = {.choice = choice,
                             .item = item,
                             .problem = is_emulated(run, choice) ? &item->emulated : &item->problem,
                             .options = run->options,
                             .emulated = is_emulated(run, choice),
                             .no_gpu_reason = run->summary->has_gpu ? NULL : run->summary->no_gpu_reason,
                             .limits = run->limits,
                             .deadline = deadline(run)};
    json_t *row = row_begin(run->id, item, session.problem, choice, session.emulated);
    if (!row) TRY(memory_check());
    if (!row)
        return status_fail(STATUS_INVALID, "a case of %s cannot be written as JSON: its text is not UTF-8", session.problem->op);
    run->index++;
    const ResumeAnswer answer = resume_ask(&run->done, row);
    Status status = STATUS_OK;
    if (answer == RESUME_DONE) {
        run->summary->resumed++;
    } else if (answer == RESUME_REPEATED) {
        run->summary->repeated++;
    } else if (clock_seconds() > deadline(run) && run->executed >= run->options->least_rows) {
        run->summary->left_by_budget++;
    } else {
        status = execute_row(run, &session, instance, row);
        if (status == STATUS_OK) resume_ran(&run->done, row);
    }
    json_decref(row);
    return status;
}

/* Without a GPU the CUDA variants run the scenario's smaller case in the emulator; everything else runs the case itself. */
static Status run_item(Run *run, const PlanItem *item) {
    for (int emulated = 0; emulated < 2; emulated++) {
        Instance instance = {0};
        Status status = STATUS_OK;
        for (int v = 0; v < item->variant_count && status == STATUS_OK; v++) {
            if (is_emulated(run, &item->variants[v]) != (bool)emulated) continue;
            status = run_row(run, item, &item->variants[v], &instance);
        }
        if (instance.op) instance_destroy(&instance);
        TRY(status);
    }
    return STATUS_OK;
}

/* Claims are judged from the file's rows alone, so that a resumed run sees all of them. */
static Status judge_claims(Run *run) {
    if (run->plan->claim_count == 0) return STATUS_OK;
    if (!rowfile_can_be_read(run->file)) {
        notice(run, "claims are not judged: %s cannot be read again; keep the rows in a file and use 'rungs judge FILE'",
               run->options->out);
        return STATUS_OK;
    }
    json_t *lines = NULL;
    TRY(rowfile_read(run->options->out, &lines));
    Status status = STATUS_OK;
    for (int i = 0; i < run->plan->claim_count && status == STATUS_OK; i++) {
        json_t *line = claim_judge(&run->plan->claims[i], lines);
        json_object_set_new(line, "run", json_string(run->id));
        json_object_set_new(line, "schema", json_integer(ROW_SCHEMA_VERSION));
        status = rowfile_append(run->file, line);
        claim_count(line, run->summary->claims);
        if (status == STATUS_OK) tell(run, run->options->report, line);
        json_decref(line);
    }
    json_decref(lines);
    return status;
}

static Status run_items(Run *run) {
    TRY(record_circumstances(run));
    for (int i = 0; i < run->plan->item_count; i++) TRY(run_item(run, &run->plan->items[i]));
    return judge_claims(run);
}

Status run_plan(const Plan *plan, const RunOptions *options, RunSummary *summary) {
    *summary = (RunSummary){0};
    Run run = {.plan = plan, .options = options, .summary = summary, .begin = clock_seconds()};
    referenceworker_allow(options->timeout_seconds);
    summary->has_gpu = foresee_gpu(options->device, summary->no_gpu_reason, sizeof summary->no_gpu_reason);
    for (int i = 0; i < plan->item_count; i++) summary->total += (size_t)plan->items[i].variant_count;
    const time_t wall = time(NULL);
    struct tm utc;
    gmtime_r(&wall, &utc);
    const size_t used = strftime(run.id, sizeof run.id, "%Y%m%dT%H%M%SZ", &utc);
    snprintf(run.id + used, sizeof run.id - used, "-%d", (int)getpid());
    bool cut = false;
    TRY(rowfile_open(options->out, &run.file, &cut)); /* first, as it drops a cut line, which is no JSON to read */
    if (cut) notice(&run, "%s ended in the middle of a line (a killed run); that line was dropped", options->out);
    Status status = options->resume && !rowfile_can_be_read(run.file)
                        ? status_fail(STATUS_INVALID, "--resume: %s is a pipe or a device, which holds no rows", options->out)
                        : resume_open(options->resume ? options->out : NULL, &run.done);
    if (status == STATUS_OK && !options->no_ceilings) status = limits_open(options->device, &run.limits);
    if (status == STATUS_OK) status = run_items(&run);
    limits_close(run.limits);
    refusal_close();
    rowfile_close(run.file);
    resume_close(&run.done);
    return status;
}
