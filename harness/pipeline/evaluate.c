/* evaluate.c - what happens to one variant on one case. evaluate(), at the end, is the whole of it; the steps stand above it in
 * their order. A step that ends the evaluation has written the row's verdict. */
#include "pipeline/evaluate.h"

#include "base/foreign.h"
#include "base/poison.h"
#include "measure/moves_cpu.h"
#include "plan/case.h"
#include "record/program.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TIMED_AT_MOST = 3 };                /* before samples that are far below what calls take fail the row */
static const double SAMPLING_SECONDS = 60; /* pilots, cache sweeps, graph building: what sampling takes besides the samples */
static const size_t SAMPLING_BYTES = (size_t)256 << 20; /* samples, a benchmark library, a graph: besides the cache sweep */
static const double SECONDS_PER_BYTE = 4e-9;            /* moving data to the worker: 250 MB/s at the very worst */

static double timeout_for(const Session *s) {
    return s->options->timeout_seconds + SECONDS_PER_BYTE * (double)instance_bytes(s->instance);
}

static void add_launch(Row *row, const Launch *reported) {
    if (reported->count > 0) memcpy(row->launch.device, reported->device, sizeof row->launch.device);
    for (int i = 0; i < reported->count; i++) launch_set(&row->launch, reported->numbers[i].name, reported->numbers[i].value);
}

/* ---- The row. */

/* A user's function is named by its file name and a hash. */
static void name_user_code(Row *row) {
    for (int i = 0; i < row->problem.params.count; i++) {
        ParamValue *value = &row->problem.params.values[i];
        if (strcmp(row->problem.params.specs[i].name, USERCODE_PARAM) != 0 || strcmp(value->text, "none") == 0) continue;
        usercode_name(value->text, row->user_code);
        value->text = row->user_code;
    }
}

Status row_begin(const char *run, const PlanItem *item, const Case *problem, const VariantChoice *choice, bool emulated, Row *out) {
    const VariantFacts *facts = choice->entry->variant;
    const char *no_hash = emulated                                 ? "emulated"
                          : choice->entry->backend == BACKEND_PEER ? "runs no code of this build"
                          : facts->error                           ? "there is no module"
                                                                   : NULL;
    *out = (Row){.run = run,
                 .scenario = item->scenario,
                 .baseline = item->baseline,
                 .variant = choice->entry->id,
                 .backend = emulated ? "emulator" : backend_name(choice->entry->backend),
                 .library = facts->library,
                 .emulated = emulated,
                 .problem = *problem,
                 .tunables = choice->tunables,
                 .work = registry_op(problem->op)->work(problem),
                 .sass_hash = no_hash ? NULL : facts->sass_hash,
                 .host_hash = no_hash ? NULL : facts->host_hash,
                 .no_hash_reason = no_hash ? no_hash : facts->no_hash_reason,
                 .prepare_seconds = NAN,
                 .counts = counts_none()};
    name_user_code(out);
    case_format(&out->problem, out->text, sizeof out->text);
    variant_choice_format(choice, out->spec, sizeof out->spec);
    row_set_text(&out->counts_reason, "not counted: only variants that passed and were timed are");
    char text[CASE_TEXT_MAX];
    memcpy(text, out->text, sizeof text);
    foreign_make_utf8(text);
    if (strcmp(text, out->text) == 0) return STATUS_OK;
    row_free(out);
    return status_fail(STATUS_INVALID, "a case of %s cannot be written as JSON: its text is not UTF-8", problem->op);
}

/* ---- Refusals: by shapes only, no memory is taken. */
static Status refuse(Session *s) {
    Instance shapes;
    TRY(instance_shapes(s->problem, &shapes));
    const Status status = session_refused(s);
    s->refused = status == STATUS_UNSUPPORTED;
    if (status == STATUS_IO) return status;
    if (status != STATUS_OK) decide_by_status(s, status);
    return STATUS_OK;
}

static const char *why_untimed(const Session *session) {
    if (session->emulated) return "emulated";
    if (session->options->verify_only) return "verify only";
    static char reason[80];
    snprintf(reason, sizeof reason, "a %.40s build is never timed", PROGRAM.build_type);
    return strcmp(PROGRAM.build_type, "Release") == 0 ? NULL : reason;
}

/* ---- The instance: created by the first variant of a case that needs it, used by all.
 * The bound is the op's own, or the looser one that the variant declares if the scenario admits it. Oracles of exact() are not
 * looser than each other: a variant is verified against the one whose definition it follows. */
static void choose_bound(Session *s) {
    const Op *op = s->instance->op;
    const int found = instance_bound(s->instance, s->item->declared_bounds || op->exact ? s->choice->entry->variant->bound : NULL);
    s->bound = found < 0 ? 0 : found;
    s->row->bound = &op->bounds[s->bound];
    s->row->bound_declared = s->bound != 0;
    const PythonOp *python = registry_python(op);
    s->row->float64 = python && python->float64 && s->problem->dtype == DTYPE_F64;
}

static Status make_instance(Session *s) {
    if (!s->instance->op) TRY(instance_create(registry_op(s->problem->op), s->problem, s->instance));
    choose_bound(s);
    return instance_load(s->instance, s->emulated ? DATA_FIRST : DATA_SECOND);
}

/* ---- The worker: a process of the variant's own, the device, the variant's prepare(). */
static Status start_worker(Session *s) {
    PrepareReply prepared;
    const double timeout = timeout_for(s);
    Status status = s->worker->child ? STATUS_OK : session_start(s, timeout, &s->worker->child);
    if (!s->worker->child && status != STATUS_UNSUPPORTED) return status;
    if (status == STATUS_OK) {
        s->opened = true;
        status = session_open(s, s->worker->child, timeout, &prepared);
    }
    if (status == STATUS_OK) {
        s->row->prepare_seconds = prepared.seconds;
        add_launch(s->row, &prepared.launch);
    } else {
        decide(s, status == STATUS_UNSUPPORTED ? VERDICT_SKIP : VERDICT_ERROR, status_message());
    }
    return STATUS_OK;
}

/* ---- Verification: one call on the set's inputs, every output against the reference. */

static Status verify_once(Session *s, DataSet set, bool *undecided) {
    RunReply ran;
    instance_poison(s->instance);
    const Status status = session_run(s, set, s->worker->child, timeout_for(s), &ran);
    if (status != STATUS_OK) {
        decide_by_status(s, status);
        return STATUS_OK;
    }
    if (set == DATA_FIRST && s->instance->poison == 0) s->first_seconds = ran.seconds;
    add_launch(s->row, &ran.launch);
    if (ran.threads > s->row->threads) s->row->threads = ran.threads; /* the most of all calls */
    return compare_outputs(s, set, set == DATA_FIRST ? "" : "on the second data set: ", undecided);
}

bool sees_poison(const Session *s) {
    return s->choice->entry->backend != BACKEND_PEER && !s->emulated;
}

/* What is never written differs from the reference after a run from the first poison, a NaN, or the second, a number. So one run in
 * which a value equals the poison is followed by one from the next. */
static Status verify(Session *s, DataSet set) {
    const int least = set == DATA_FIRST && sees_poison(s) ? POISON_PATTERNS : 1;
    bool undecided = false;
    for (int p = 0; !s->decided && (p < least || (p == 1 && undecided)); p++) {
        s->instance->poison = p;
        TRY(verify_once(s, set, &undecided));
    }
    return STATUS_OK;
}

/* ---- Timing: some samples are compared as well. */

/* The first call of the process, if it was this case's. */
static void add_first(Session *s) {
    const bool first = s->worker->served == 0;
    timing_single(&s->row->timing[MODE_FIRST], first ? s->first_seconds : NAN,
                  first ? "steady clock" : "not a first call: its worker had served another case");
}

static Status take_times(Session *s) {
    const RunOptions *options = s->options;
    const char *why = why_untimed(s);
    if (why) {
        s->row->why_not_timed = why;
        return STATUS_OK;
    }
    /* modes x least samples, each at most as slow as the first, and with a call before it that warms the caches */
    const double calls = 2 * (MODE_COUNT - 1) * (double)options->min_samples;
    const double timeout =
        SAMPLING_SECONDS + timeout_for(s) + MODE_COUNT * 4 * options->seconds_per_mode + calls * s->first_seconds;
    /* A limit is for the variant, not for what empties the caches and the second inputs. */
    child_allow(s->worker->child, cache_sweep_bytes() + SAMPLING_BYTES + instance_input_bytes(s->instance, DATA_FIRST));
    bool taken = false, far = true;
    Status status = STATUS_OK;
    for (int i = 0; i < TIMED_AT_MOST && status == STATUS_OK && !s->decided && far; i++) {
        timing_free(s->row->timing);
        if (i > 0 && options->draw.shared == 0) instance_redraw(s->instance); /* what the worker has seen is compared */
        status = timed_take(s, timeout, &taken);
        far = false;
        if (taken) s->row->timed = true;
        if (taken && s->item->modes & (1u << MODE_FIRST)) add_first(s);
        if (taken) status = check_clock(s, timeout, i + 1 == TIMED_AT_MOST, &far);
    }
    if (status != STATUS_OK) decide_by_status(s, status);
    return STATUS_OK;
}

/* Emulated kernels are deterministic for a seed; the tests vary the seed instead. */
static Status verify_again(Session *s) {
    if (s->emulated) return STATUS_OK;
    if (!s->row->timed || !instance_is_large(s->instance)) TRY(verify(s, DATA_SECOND)); /* timed samples were on such data */
    if (!s->decided) s->row->reverified = true;
    return STATUS_OK;
}

/* ---- Repeated calls: their bits, their energy. */
static Status repeat_calls(Session *s) {
    Status status = bits_try(s, SAMPLING_SECONDS + timeout_for(s));
    if (status == STATUS_OK && !s->decided) status = energy_try(s, SAMPLING_SECONDS + timeout_for(s));
    if (status != STATUS_OK) decide_by_status(s, status);
    return STATUS_OK;
}

/* ---- The end of the case: release(), and nothing of it is left in the worker. How the worker itself ends is known later. */
static void end_case(Session *s) {
    const bool skipped = s->decided;
    const Status status = session_end(s->worker->child, timeout_for(s), &s->worker->reusable);
    if (status != STATUS_OK && !skipped) decide_by_status(s, status_prefix(status, "at its end: "));
}

/* What was drawn for a row that failed after timing began goes into it, and then tells no later worker anything. */
static void report_draw(Session *s) {
    if (s->draw.shared == 0 || s->row->verdict == VERDICT_SKIP) return;
    draw_format(&s->draw, s->row->draw);
    if (s->options->draw.shared == 0) instance_redraw(s->instance);
}

/* ---- The whole. */
static bool goes_on(const Session *s, Status status) {
    return status == STATUS_OK && !s->decided;
}

/* What the harness could not do for this case becomes its row; anything else ends the run. A skip is for good: what the machine
 * lacks for the moment, memory or descriptors, is an error, which --resume tries again. */
static Status decide_by_harness(Status status, Row *row) {
    switch (status) {
    case STATUS_UNSUPPORTED:
        row_decide(row, VERDICT_SKIP, status_message());
        return STATUS_OK;
    case STATUS_MEMORY:
    case STATUS_DEVICE:
    case STATUS_INVALID:
    case STATUS_CHECK:
        row_decide(row, VERDICT_ERROR, status_message());
        return STATUS_OK; /* the user's code in the reference */
    default:
        return status;
    }
}

Status evaluate(Session *s, VariantWorker *worker) {
    s->worker = worker;
    s->bound = 0, s->first_seconds = 0, s->began = clock_seconds(), s->draw = (Draw){0};
    s->refused = s->decided = s->opened = s->pending = false;
    Status status = refuse(s);
    if (goes_on(s, status)) status = make_instance(s);      /* memory that the worker maps, and the first inputs */
    if (goes_on(s, status)) status = start_worker(s);       /* in its own process */
    if (goes_on(s, status)) status = verify(s, DATA_FIRST); /* no pass, no time */
    if (goes_on(s, status)) status = take_times(s);
    if (goes_on(s, status)) status = verify_again(s); /* on data that the variant has not seen */
    if (goes_on(s, status)) status = repeat_calls(s);
    if (goes_on(s, status)) report_changes(s);
    if (goes_on(s, status)) status = report_definitions(s);
    const bool good = goes_on(s, status), skipped = s->decided && s->row->verdict == VERDICT_SKIP;
    if (s->opened && status == STATUS_OK && (good || skipped)) end_case(s);
    if (s->decided) report_draw(s);
    worker->served += s->opened;
    worker->reusable = worker->reusable && s->opened && status == STATUS_OK && (good || skipped);
    if (status == STATUS_OK && !s->refused && !good) counts_take(s, &(Counter){0}); /* why it has no counts */
    status = decide_by_harness(status, s->row);
    s->pending = goes_on(s, status) && good;
    return status;
}
