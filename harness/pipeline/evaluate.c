/* evaluate.c - what happens to one variant on one case. evaluate(), at the end, is the whole of it; the steps stand above it in
 * their order. A step that ends the evaluation has written the row's verdict. */
#include "pipeline/evaluate.h"

#include "base/foreign.h"
#include "base/poison.h"
#include "measure/cache.h"
#include "plan/case.h"
#include "record/program.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double SAMPLING_SECONDS = 60; /* pilots, cache sweeps, graph building: what sampling takes besides the samples */
static const size_t SAMPLING_BYTES = (size_t)256 << 20; /* samples, a benchmark library, a graph: besides the cache sweep */
static const double SECONDS_PER_BYTE = 4e-9;            /* moving data to the worker: 250 MB/s at the very worst */

static double timeout_for(const Evaluation *e) {
    return e->session->options->timeout_seconds + SECONDS_PER_BYTE * (double)instance_bytes(e->instance);
}

static void add_launch(Row *row, const Launch *told) {
    if (told->count > 0) memcpy(row->launch.device, told->device, sizeof row->launch.device);
    for (int i = 0; i < told->count; i++) launch_set(&row->launch, told->numbers[i].name, told->numbers[i].value);
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

/* ---- Refusals: by shapes only, no memory is taken. *refused: for what variant and machine cannot do. */
static Status refuse(Evaluation *e, bool *refused) {
    Instance shapes;
    TRY(instance_shapes(e->session->problem, &shapes));
    const Status status = session_refused(e->session);
    *refused = status == STATUS_UNSUPPORTED;
    if (status == STATUS_IO) return status;
    if (status != STATUS_OK) decide_by_status(e, status);
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
static int choose_bound(const Instance *instance, const Session *session, Row *row) {
    const char *declared = session->item->declared_bounds || instance->op->exact ? session->choice->entry->variant->bound : NULL;
    const int found = instance_bound(instance, declared), bound = found < 0 ? 0 : found;
    row->bound = &instance->op->bounds[bound];
    row->bound_declared = bound != 0;
    return bound;
}

static Status make_instance(Evaluation *e) {
    if (!e->instance->op) TRY(instance_create(registry_op(e->session->problem->op), e->session->problem, e->instance));
    e->bound = choose_bound(e->instance, e->session, e->row);
    if (e->session->emulated) return instance_load(e->instance, DATA_FIRST);
    return why_untimed(e->session) ? instance_load(e->instance, DATA_SECOND) : instance_load_all(e->instance);
}

/* ---- The worker: a process of the variant's own, the device, the variant's prepare(). */
static Status start_worker(Evaluation *e) {
    PrepareReply prepared;
    const double timeout = timeout_for(e);
    Status status = e->host->child ? STATUS_OK : session_start(e->session, timeout, &e->host->child);
    if (!e->host->child && status != STATUS_UNSUPPORTED) return status;
    if (status == STATUS_OK) {
        e->opened = true;
        status = session_open(e->instance, e->session, e->host->child, timeout, &prepared);
    }
    if (status == STATUS_OK) {
        e->row->prepare_seconds = prepared.seconds;
        add_launch(e->row, &prepared.launch);
    } else {
        decide(e, status == STATUS_UNSUPPORTED ? VERDICT_SKIP : VERDICT_ERROR, status_message());
    }
    return STATUS_OK;
}

/* ---- Verification: one call on the set's inputs, every output against the reference. */

static Status verify_once(Evaluation *e, DataSet set, bool *undecided) {
    RunReply ran;
    *undecided = false;
    instance_poison(e->instance);
    const Status status = session_run(e->instance, set, e->host->child, timeout_for(e), &ran);
    if (status != STATUS_OK) {
        decide_by_status(e, status);
        return STATUS_OK;
    }
    if (set == DATA_FIRST && e->instance->poison == 0) e->first_seconds = ran.seconds;
    add_launch(e->row, &ran.launch);
    if (ran.threads > e->row->threads) e->row->threads = ran.threads; /* the most of all calls */
    return compare_outputs(e, set, set == DATA_FIRST ? "" : "on the second data set: ", undecided);
}

static Status verify(Evaluation *e, DataSet set) {
    bool undecided = true;
    for (e->instance->poison = 0; undecided && e->instance->poison < POISON_PATTERNS; e->instance->poison++)
        TRY(verify_once(e, set, &undecided));
    e->instance->poison--;
    return STATUS_OK;
}

/* ---- Timing: some samples are compared as well. */

/* The first call of the process, if it was this case's. */
static void add_first(Evaluation *e) {
    const bool first = e->host->served == 0;
    timing_single(&e->row->timing[MODE_FIRST], first ? e->first_seconds : NAN,
                  first ? "steady clock" : "not a first call: its worker had served another case");
}

static Status take_times(Evaluation *e) {
    const RunOptions *options = e->session->options;
    const char *why = why_untimed(e->session);
    if (why) {
        e->row->why_not_timed = why;
        return STATUS_OK;
    }
    /* modes x least samples, each at most as slow as the first, and with a call before it that warms the caches */
    const double calls = 2 * (MODE_COUNT - 1) * (double)options->min_samples;
    const double timeout =
        SAMPLING_SECONDS + timeout_for(e) + MODE_COUNT * 4 * options->seconds_per_mode + calls * e->first_seconds;
    /* A limit is for the variant, not for what empties the caches and the second inputs. */
    child_allow(e->host->child, cache_sweep_bytes() + SAMPLING_BYTES + instance_input_bytes(e->instance, DATA_FIRST));
    bool taken = false;
    const Status status = timed_take(e, timeout, &taken);
    if (status != STATUS_OK) decide_by_status(e, status);
    if (taken) e->row->timed = true;
    if (taken && e->session->item->modes & (1u << MODE_FIRST)) add_first(e);
    return STATUS_OK;
}

/* Emulated kernels are deterministic for a seed; the tests vary the seed instead. */
static Status verify_again(Evaluation *e) {
    if (e->session->emulated) return STATUS_OK;
    TRY(verify(e, DATA_SECOND));
    if (!e->decided) e->row->reverified = true;
    return STATUS_OK;
}

/* ---- The end of the case: release(), and nothing of it is left in the worker. How the worker itself ends is known later. */
static void end_case(Evaluation *e) {
    const bool skipped = e->decided;
    const Status status = session_end(e->host->child, timeout_for(e), &e->host->reusable);
    if (status != STATUS_OK && !skipped) decide_by_status(e, status_prefix(status, "at its end: "));
}

/* ---- The whole. */
static bool goes_on(const Evaluation *e, Status status) {
    return status == STATUS_OK && !e->decided;
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

Status evaluate(Instance *instance, const Session *session, Host *host, Row *row, Evaluated *evaluated) {
    Evaluation e = {.session = session, .instance = instance, .row = row, .host = host};
    bool refused = false;
    Status status = refuse(&e, &refused);
    if (goes_on(&e, status)) status = make_instance(&e);      /* memory that the worker maps, and the first inputs */
    if (goes_on(&e, status)) status = start_worker(&e);       /* in its own process */
    if (goes_on(&e, status)) status = verify(&e, DATA_FIRST); /* no pass, no time */
    if (goes_on(&e, status)) status = take_times(&e);
    if (goes_on(&e, status)) status = verify_again(&e); /* on data that the variant has not seen */
    const bool good = goes_on(&e, status), skipped = e.decided && row->verdict == VERDICT_SKIP;
    if (e.opened && status == STATUS_OK && (good || skipped)) end_case(&e);
    host->served += e.opened;
    host->reusable = host->reusable && e.opened && status == STATUS_OK && (good || skipped);
    if (status == STATUS_OK && !refused && !good) counts_take(instance, session, &(Counter){0}, row); /* why it has no counts */
    status = decide_by_harness(status, row);
    *evaluated = (Evaluated){.bound = e.bound, .refused = refused, .served = e.opened, .pending = goes_on(&e, status) && good};
    return status;
}
