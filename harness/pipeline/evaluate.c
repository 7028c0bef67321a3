/* evaluate.c - what happens to one variant on one case. evaluate() and evaluate_finish(), at the end, are the whole of it; the
 * steps stand above them in their order. A step that ends the evaluation has written the row's verdict. */
#include "pipeline/evaluate.h"

#include "base/poison.h"
#include "device/child.h"
#include "measure/cache.h"
#include "pipeline/limits.h"
#include "pipeline/profile.h"
#include "pipeline/timed.h"
#include "record/program.h"
#include "verify/exact.h"
#include "verify/norms.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double SAMPLING_SECONDS = 60; /* pilots, cache sweeps, graph building: what sampling takes besides the samples */
static const size_t SAMPLING_BYTES = (size_t)256 << 20; /* samples, a benchmark library, a graph: besides the cache sweep */
static const double SECONDS_PER_BYTE = 4e-9;            /* moving data to the worker: 250 MB/s at the very worst */

typedef struct Evaluation {
    const Session *session;
    Instance *instance;
    Row *row;
    Host *host;
    int bound;            /* index into the op's bounds */
    double first_seconds; /* the first call, by the worker's clock */
    bool decided;         /* the verdict is in the row */
    bool opened;          /* the case is open in the worker */
} Evaluation;

static void decide(Evaluation *e, Verdict verdict, const char *reason) {
    row_decide(e->row, verdict, reason);
    e->decided = true;
}

/* What a worker could not do, as the row's verdict. */
static void decide_by_status(Evaluation *e, Status status) {
    decide(e,
           status == STATUS_UNSUPPORTED ? VERDICT_SKIP
           : status == STATUS_CHECK     ? VERDICT_FAIL
                                        : VERDICT_ERROR,
           status_message());
}

static double timeout_for(const Evaluation *e) {
    return e->session->options->timeout_seconds + SECONDS_PER_BYTE * (double)instance_bytes(e->instance);
}

static void add_launch(Row *row, const Launch *told) {
    if (told->count > 0) memcpy(row->launch.device, told->device, sizeof row->launch.device);
    for (int i = 0; i < told->count; i++) launch_set(&row->launch, told->numbers[i].name, told->numbers[i].value);
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

static Status judge_exactly(Instance *instance, DataSet set, int bound, int index, Judgement *out) {
    const Array *expected;
    ExactReport *report = &out->errors.bytes;
    TRY(instance_exact(instance, set, bound, &expected));
    exact_compare(&instance->given[index], &expected[index], report);
    out->errors.exact = true;
    out->pass = report->pass;
    out->judgeable = true;
    if (report->pass)
        snprintf(out->words, sizeof out->words, "all %zu elements are exact", report->count);
    else
        exact_explain(report, instance->given, expected, instance->op->out_count, index, out->words, sizeof out->words);
    return STATUS_OK;
}

static Status judge_by_bound(Instance *instance, DataSet set, int bound, int index, Judgement *out) {
    const Reference *reference;
    ErrorReport *report = &out->errors.bounded;
    const Array *given = &instance->given[index];
    TRY(instance_reference(instance, set, bound, &reference));
    norms_compare_poisoned(given, reference[index].value, reference[index].tolerance, POISONS[instance->poison], report);
    out->pass = report->pass;
    out->judgeable = report->judgeable;
    out->undecided = report->undecided;
    out->vacuous = report->vacuous;
    if (report->pass && !report->judgeable)
        snprintf(out->words, sizeof out->words,
                 "%s: not judgeable (the tolerance is no less than the value in %.3g%% of the elements, so 0 would pass there)",
                 given->name, 100 * report->vacuous);
    else if (report->pass)
        snprintf(out->words, sizeof out->words, "largest error %.3g of the bound '%s'", report->max_ratio,
                 instance->op->bounds[bound].name);
    else
        norms_explain(report, given->name, instance->op->in_count == 1 ? &instance->in[set][0] : NULL, out->words,
                      sizeof out->words);
    return STATUS_OK;
}

Status judge_output(Instance *instance, DataSet set, int bound, int index, Judgement *out) {
    *out = (Judgement){.pass = false};
    snprintf(out->errors.output, sizeof out->errors.output, "%s", instance->out[index].name);
    return (instance->op->exact ? judge_exactly : judge_by_bound)(instance, set, bound, index, out);
}

/* Compares every output that the variant gives. The errors of the first set, or of the call that fails, go into the row; `when`
 * begins the reason. Where all that speaks against an output is that correct values equal the poison, *undecided is set and nothing
 * decided; undecided may be NULL: such a value is correct. What passes must also be judgeable on the first inputs, or it verifies
 * nothing: a row needs one output that is both. */
static Status compare_outputs(Evaluation *e, DataSet set, const char *when, bool *undecided) {
    Instance *instance = e->instance;
    OutputErrors errors[OP_MAX_ARRAYS];
    char reason[1024] = "";
    int given = 0;
    bool pass = true, wrong = undecided && instance->poison + 1 == POISON_PATTERNS, verified = !undecided || set != DATA_FIRST;
    for (int i = 0; i < instance->op->out_count; i++) {
        Judgement judgement;
        if (!registry_gives(e->session->choice->entry, instance->out[i].name)) continue;
        TRY(judge_output(instance, set, e->bound, i, &judgement));
        errors[given++] = judgement.errors;
        verified = verified || (judgement.pass && judgement.judgeable);
        if (judgement.pass && judgement.judgeable) continue;
        if (!undecided && judgement.undecided) continue;
        wrong = wrong || (!judgement.pass && !judgement.undecided);
        if (reason[0] == '\0' || (pass && !judgement.pass)) snprintf(reason, sizeof reason, "%s", judgement.words);
        pass = pass && judgement.pass;
    }
    if (given == 0) { /* a library whose "outputs" are none of the op's */
        pass = false, wrong = true;
        snprintf(reason, sizeof reason, "it gives none of the outputs of %s", instance->op->name);
    }
    if ((undecided && set == DATA_FIRST) || !pass) row_set_errors(e->row, errors, given);
    if (undecided) *undecided = !pass && !wrong;
    if (pass ? verified : !wrong) return STATUS_OK;
    char text[1200];
    snprintf(text, sizeof text, "%s%s", when, reason);
    decide(e, pass ? VERDICT_SKIP : VERDICT_FAIL, text);
    return STATUS_OK;
}

/* Of a timed sample. */
static Status judge_sample(void *context, DataSet set, const char *when, bool *pass) {
    Evaluation *e = context;
    TRY(compare_outputs(e, set, when, NULL));
    *pass = !e->decided;
    return STATUS_OK;
}

static Status verify_once(Evaluation *e, DataSet set, bool *undecided) {
    RunReply ran;
    *undecided = false;
    timed_poison(e->instance);
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
    const Timed timed = {.instance = e->instance,
                         .session = e->session,
                         .child = e->host->child,
                         .call_seconds = e->first_seconds,
                         .timeout_seconds = SAMPLING_SECONDS + timeout_for(e) + MODE_COUNT * 4 * options->seconds_per_mode +
                                            calls * e->first_seconds,
                         .judge = judge_sample,
                         .context = e};
    /* A limit is for the variant, not for what empties the caches and the second inputs. */
    child_allow(e->host->child, cache_sweep_bytes() + SAMPLING_BYTES + instance_input_bytes(e->instance, DATA_FIRST));
    bool taken = false;
    const Status status = timed_take(&timed, e->row->timing, &taken);
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
static Status settle(Status status, Row *row) {
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
    if (status == STATUS_OK && !refused && !good) profile_take(instance, session, &(Counter){0}, row); /* why it has no counts */
    status = settle(status, row);
    *evaluated = (Evaluated){.bound = e.bound, .refused = refused, .served = e.opened, .pending = goes_on(&e, status) && good};
    return status;
}

/* Launches, bytes and allocations come last, in another worker: counting slows calls down. */
Status evaluate_finish(Instance *instance, const Session *session, int bound, Counter *counter, Row *row) {
    char reason[512];
    if (limits_hold(session->limits, instance, session, bound, row, reason)) {
        row_decide(row, VERDICT_PASS, NULL);
        profile_take(instance, session, counter, row);
    } else {
        row_decide(row, VERDICT_FAIL, reason);
    }
    return STATUS_OK;
}
