#include "pipeline/evaluate.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/poison.h"
#include "measure/measure.h"
#include "protocol.h"
#include "verify/exact.h"
#include "verify/norms.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void decide(Session *s, Verdict verdict, const char *reason) {
    row_decide(s->row, verdict, reason);
    s->decided = true;
}

void decide_by_status(Session *s, Status status) {
    decide(s,
           status == STATUS_UNSUPPORTED ? VERDICT_SKIP
           : status == STATUS_CHECK     ? VERDICT_FAIL
                                        : VERDICT_ERROR,
           status_message());
}

/* ---- Outputs against the reference. */

static Status judge_exactly(Instance *instance, DataSet set, int bound, int index, Judgement *out) {
    const Array *expected;
    ExactReport *report = &out->errors.bytes;
    TRY(instance_exact(instance, set, bound, &expected));
    exact_compare(&instance->given[index], &expected[index], POISONS[instance->poison], report);
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
    out->pass = report->pass || report->undecided;
    out->judgeable = report->judgeable;
    out->undecided = report->undecided;
    out->vacuous = report->vacuous;
    if (out->pass && !report->judgeable)
        snprintf(out->words, sizeof out->words,
                 "%s: not judgeable (the tolerance is no less than the value in %.3g%% of the elements, so 0 would pass there)",
                 given->name, 100 * report->vacuous);
    else if (out->pass)
        snprintf(out->words, sizeof out->words, "largest error %.3g of the bound '%s'", report->max_ratio,
                 instance->op->bounds[bound].name);
    else
        norms_explain(report, given->name, instance->op->in_count == 1 && instance->loaded[set] ? &instance->in[set][0] : NULL,
                      out->words, sizeof out->words);
    return STATUS_OK;
}

/* All outputs at once, with the first of them. */
static Status judge_by_checker(Instance *instance, DataSet set, int bound, int index, Judgement *out) {
    (void)bound;
    const Status status = index == 0 ? instance_check(instance, set) : STATUS_OK;
    if (status != STATUS_OK && status != STATUS_CHECK) return status;
    out->pass = status == STATUS_OK, out->judgeable = true;
    out->errors.bounded = (ErrorReport){.count = array_count(&instance->given[index]), .pass = out->pass, .judgeable = true};
    snprintf(out->words, sizeof out->words, "%s", out->pass ? "check() finds nothing wrong" : status_message());
    return STATUS_OK;
}

Status judge_output(Instance *instance, DataSet set, int bound, int index, Judgement *out) {
    *out = (Judgement){.pass = false};
    snprintf(out->errors.output, sizeof out->errors.output, "%s", instance->out[index].name);
    return (instance->op->exact              ? judge_exactly
            : instance_has_checker(instance) ? judge_by_checker
                                             : judge_by_bound)(instance, set, bound, index, out);
}

Status compare_outputs(Session *s, DataSet set, const char *when, bool *undecided) {
    Instance *instance = s->instance;
    OutputErrors errors[OP_MAX_ARRAYS];
    char reason[1024] = "";
    int given = 0;
    bool pass = true, verified = !undecided || set != DATA_FIRST;
    for (int i = 0; i < instance->op->out_count; i++) {
        Judgement judgement;
        if (!registry_gives(s->choice->entry, instance->out[i].name) || instance_leaves_out(instance, i)) continue;
        TRY(judge_output(instance, set, s->bound, i, &judgement));
        errors[given++] = judgement.errors;
        if (undecided && judgement.undecided) *undecided = true;
        if (judgement.pass && judgement.judgeable) verified = true;
        if (judgement.pass && judgement.judgeable) continue;
        if (reason[0] == '\0' || (pass && !judgement.pass)) snprintf(reason, sizeof reason, "%s", judgement.words);
        pass = pass && judgement.pass;
    }
    if (given == 0) { /* a library whose "outputs" are none of the op's */
        pass = false;
        snprintf(reason, sizeof reason, "it gives none of the outputs of %s", instance->op->name);
    }
    if ((undecided && set == DATA_FIRST) || !pass) row_set_errors(s->row, errors, given);
    if (pass && verified) return STATUS_OK;
    char text[1200];
    snprintf(text, sizeof text, "%s%s", when, reason);
    decide(s, pass ? VERDICT_SKIP : VERDICT_FAIL, text);
    return STATUS_OK;
}

/* The share of the outputs in which a result of the set `kept` is wrong; 0 where none can change. */
static double share_changed(const Session *s, int kept, int set) {
    const Instance *instance = s->instance;
    Changes all = {0};
    for (int i = 0; i < instance->op->out_count; i++) {
        if (!registry_gives(s->choice->entry, instance->out[i].name)) continue;
        if (instance->op->exact)
            changes_exact(&instance->exact[kept][s->bound][i], &instance->exact[set][s->bound][i], &all);
        else
            changes_bounded(instance->op, &instance->cases[set], i, &instance->reference[kept][s->bound][i],
                            &instance->reference[set][s->bound][i], array_count(&instance->out[i]), &all);
    }
    return all.of > 0 ? (double)all.wrong / (double)all.of : 0;
}

void report_changes(Session *s) {
    for (int m = 0; m < MODE_COUNT && s->row->timed; m++) {
        ModeTiming *timing = &s->row->timing[m];
        timing->changed = 1;
        for (size_t i = 0; i < timing->checked_count; i++)
            for (int kept = DATA_FIRST; kept < DATA_COUNT; kept++)
                if (kept != timing->checked[i].set && instance_has_reference(s->instance, kept, s->bound))
                    timing->changed = fmin(timing->changed, share_changed(s, kept, timing->checked[i].set));
    }
}

static Status report_on(const Session *s, DataSet set) {
    Instance *instance = s->instance;
    for (int i = 0; i < instance->op->out_count; i++) {
        Definitions of;
        if (!registry_gives(s->choice->entry, instance->out[i].name)) continue;
        TRY(instance_definitions(instance, set, s->bound, i, &of));
        s->row->rejects |= of.rejected;
        s->row->admits |= of.applies;
    }
    s->row->admits &= ~s->row->rejects;
    return STATUS_OK;
}

Status report_definitions(Session *s) {
    s->row->wrong = s->instance->op->wrong;
    if (!s->row->wrong) return STATUS_OK;
    TRY(report_on(s, DATA_FIRST));
    return s->row->admits && s->row->reverified && !instance_is_large(s->instance) ? report_on(s, DATA_SECOND) : STATUS_OK;
}

/* ---- Timed samples. Each has data of its own, made from a key that this process gives just before the call. Some keys are those
 * of varied sets: after the call the parent asks for the outputs of these, and the worker cannot tell them before. */

/* Of one mode. */
typedef struct ModeSamples {
    size_t of, asked, taken, pilots; /* samples in all, or of the present round, 0: not known yet; those begun, taken so far */
    size_t rounds[DRAW_ROUNDS_MAX];  /* where earlier rounds ended (--precision) */
    int round_count;
    uint64_t seconds;               /* of all that were taken, hashed from a number that the worker does not know */
    size_t longer;                  /* by the host's clock than by events */
    size_t wanted[VARIED_PER_MODE]; /* samples that are to be compared, each on a varied set of its own */
    int wanted_count;
    CheckedSample shown[CHECKED_MAX];
    size_t shown_count;
} ModeSamples;

/* Of one command `time`. */
typedef struct Timing {
    Session *session;
    ModeSamples samples[MODE_COUNT];
    size_t least, most; /* samples */
    double precision;   /* samples come in rounds until they are so precise; 0: all in one */
    Helpers helpers;    /* of the worker, when timing began */
    double begin;       /* of timing */
    /* The call that the last key was for. */
    Mode mode;
    int set; /* -1: nobody knows its reference */
    bool show;
} Timing;

enum { SPARE = VARIED_PER_MODE - 1 };    /* the varied set for a pilot that may become a sample */
static const double SLOW_SECONDS = 0.05; /* a pilot of such a call does */

static bool is_asked_for(const Session *s, Mode mode) {
    return mode != MODE_FIRST && s->item->modes & (1u << mode);
}

static int wanted_most(const Session *s, Mode mode) {
    return mode == MODE_COLD && !instance_is_large(s->instance) ? 2 : 1;
}

static int find_wanted(const ModeSamples *samples, size_t sample) {
    for (int k = 0; k < samples->wanted_count; k++)
        if (samples->wanted[k] == sample) return k;
    return -1;
}

/* Adds `count` of the samples [first, of): those that come first in an order of all. */
static void draw_among(const Timing *self, Mode mode, size_t first, size_t of, int count, ModeSamples *samples) {
    for (; count > 0 && of - first > 0; count--) {
        uint64_t least = UINT64_MAX;
        for (size_t sample = first; sample < of; sample++) {
            const uint64_t place = draw_of(&self->session->draw, mode, DRAW_ORDER, sample);
            if (place < least && find_wanted(samples, sample) < 0) least = place, samples->wanted[samples->wanted_count] = sample;
        }
        samples->wanted_count += least < UINT64_MAX;
    }
}

/* Draws the samples to be compared among [first, of), once their number is known: of a round one. */
static Status draw_wanted(const Timing *self, Mode mode, size_t first, size_t of, ModeSamples *samples) {
    const Draw *given = &self->session->options->draw;
    const bool follows = samples->of > 0;
    if (of <= first || of > self->most || (follows && (self->precision == 0 || samples->round_count == DRAW_ROUNDS_MAX)))
        return status_fail(STATUS_INTERNAL, "the worker announced no sample of %s", mode_name(mode));
    if (follows) samples->rounds[samples->round_count++] = samples->of;
    for (; samples->round_count < DRAW_ROUNDS_MAX && given->rounds[samples->round_count] > first; samples->round_count++) {
        const size_t end = given->rounds[samples->round_count];
        draw_among(self, mode, first, end, 1, samples);
        samples->rounds[samples->round_count] = first = end;
    }
    samples->of = of;
    draw_among(self, mode, first, of, self->precision > 0 || given->in_rounds ? 1 : wanted_most(self->session, mode), samples);
    return STATUS_OK;
}

/* A pilot's data are known where it may be a sample: that of a slow call. */
static bool pilot_may_count(const Timing *self) {
    return self->session->first_seconds > SLOW_SECONDS || self->least == 1;
}

static Status give_key(Timing *self, const SampleReply *next, json_t **command) {
    Session *s = self->session;
    ModeSamples *samples = &self->samples[next->mode];
    const bool again = next->of > 0 && next->sample < samples->asked; /* as after a pause of a throttled device */
    int k = -1;
    if (!is_asked_for(s, next->mode)) return status_fail(STATUS_INTERNAL, "the worker takes a mode that was not asked for");
    if (next->of == 0) {
        k = pilot_may_count(self) ? SPARE : -1;
    } else {
        if (samples->of != next->of) TRY(draw_wanted(self, next->mode, samples->taken, next->of, samples));
        k = find_wanted(samples, next->sample);
        samples->asked = next->sample + 1;
    }
    self->mode = next->mode, self->show = false;
    self->set = k < 0 ? -1 : (int)instance_varied(next->mode, k);
    const uint64_t key = k >= 0                   ? instance_key(s->instance, (DataSet)self->set)
                         : next->of > 0 && !again ? draw_of(&s->draw, next->mode, DRAW_SAMPLE, next->sample)
                                                  : draw_of(&s->draw, next->mode, DRAW_PILOT, samples->pilots++);
    *command = json_pack("{s:s, s:I}", KEY_DO, DO_CONTINUE, KEY_KEY, (json_int_t)key);
    return STATUS_OK;
}

/* Processes that the worker has started sleep while it is timed: their work is in no sample. */
static Status check_helpers(const Timing *self) {
    static const double SLACK_SECONDS = 2e-4, SLACK_SHARE = 1e-3; /* some wake now and then and look around */
    const Helpers now = child_helpers(self->session->worker->child), *then = &self->helpers;
    if (now.count != then->count || now.numbers != then->numbers)
        return status_fail(STATUS_CHECK, "a process began or ended while it was timed: a variant computes in its own process");
    if (now.seconds - then->seconds > SLACK_SECONDS + SLACK_SHARE * (clock_seconds() - self->begin))
        return status_fail(STATUS_CHECK, "a process that it started works while it is timed: %.3g s of CPU time",
                           now.seconds - then->seconds);
    return STATUS_OK;
}

/* Decides now, after the call, whether its outputs are compared. */
static Status decide_show(Timing *self, const SampleReply *taken, json_t **command) {
    ModeSamples *samples = &self->samples[taken->mode];
    if (taken->mode != self->mode || taken->sample != samples->taken)
        return status_fail(STATUS_INTERNAL, "the worker took samples in another order than it said");
    if (samples->of == 0) TRY(draw_wanted(self, taken->mode, self->set < 0 && taken->of > 1 ? 1 : 0, taken->of, samples));
    samples->seconds =
        hash_bytes(samples->taken ? samples->seconds : self->session->draw.own, &taken->seconds, sizeof taken->seconds);
    samples->longer += taken->longer;
    samples->taken++;
    if (self->set >= 0) TRY(check_helpers(self));
    self->show = self->set >= 0 && find_wanted(samples, taken->sample) >= 0;
    *command = json_pack("{s:s, s:b}", KEY_DO, DO_CONTINUE, KEY_SHOW, self->show);
    return STATUS_OK;
}

static Status compare_sample(Timing *self, const SampleReply *check, const json_t *reply, json_t **command) {
    Session *s = self->session;
    ModeSamples *samples = &self->samples[check->mode];
    char when[128];
    if (!self->show || check->mode != self->mode || samples->shown_count == CHECKED_MAX)
        return status_fail(STATUS_INTERNAL, "the worker asked to check a sample that was not scheduled");
    snprintf(when, sizeof when, "in timing, %s sample %zu, on data of its own: ", mode_name(check->mode), check->sample);
    TRY(session_take_counts(s->instance, reply));
    TRY(compare_outputs(s, (DataSet)self->set, when, NULL));
    samples->shown[samples->shown_count++] = (CheckedSample){check->sample, self->set};
    self->show = false;
    *command = json_pack("{s:s}", KEY_DO, DO_CONTINUE);
    return STATUS_OK;
}

static Status answer(Timing *self, const SampleReply *sample, const json_t *reply, json_t **command) {
    if (sample->mode == MODE_COUNT) return status_fail(STATUS_INTERNAL, "the worker speaks of a mode that there is not");
    return sample->what == SAMPLE_NEXT    ? give_key(self, sample, command)
           : sample->what == SAMPLE_TAKEN ? decide_show(self, sample, command)
                                          : compare_sample(self, sample, reply, command);
}

/* References that are sure to be needed are there before the first sample: a device that waits for one cools down. */
static Status prepare_references(const Session *s, double precision) {
    Instance *instance = s->instance;
    const Reference *reference;
    const Array *exact;
    if (instance_has_checker(instance)) return STATUS_OK;
    for (int m = 0; m < MODE_FIRST; m++) {
        if (!is_asked_for(s, (Mode)m) || (mode_of_stream((Mode)m) && s->choice->entry->backend != BACKEND_CUDA)) continue;
        for (int k = 0; k < (precision > 0 ? 1 : wanted_most(s, (Mode)m)); k++) {
            const DataSet set = instance_varied((Mode)m, k);
            TRY(instance->op->exact ? instance_exact(instance, set, s->bound, &exact)
                                    : instance_reference(instance, set, s->bound, &reference));
        }
    }
    return STATUS_OK;
}

static json_t *make_command(const Timing *self) {
    const Session *s = self->session;
    const RunOptions *o = s->options;
    json_t *modes = json_array();
    for (int m = 0; m < MODE_COUNT; m++)
        if (is_asked_for(s, (Mode)m)) json_array_append_new(modes, json_string(mode_name((Mode)m)));
    return json_pack("{s:s, s:o, s:I, s:I, s:f, s:f, s:o}", KEY_DO, DO_TIME, KEY_MODES, modes, KEY_MIN_SAMPLES,
                     (json_int_t)self->least, KEY_MAX_SAMPLES, (json_int_t)self->most, KEY_SECONDS, o->seconds_per_mode,
                     KEY_PRECISION, self->precision, KEY_VARY, instance_vary(s->instance));
}

/* Each was said when it was taken, before the variant ran again; so what it says of its events cannot be changed either. */
static Status check_seconds(const Timing *self, Mode mode, const ModeTiming *timing) {
    const ModeSamples *samples = &self->samples[mode];
    if (2 * samples->longer > samples->taken)
        return status_fail(STATUS_CHECK, "%s: %zu of %zu samples are shorter by CUDA events than by the host's clock",
                           mode_name(mode), samples->longer, samples->taken);
    if (samples->seconds == hash_bytes(self->session->draw.own, timing->seconds, timing->count * sizeof *timing->seconds))
        return STATUS_OK;
    return status_fail(STATUS_CHECK, "%s: a sample that was taken was changed later", mode_name(mode));
}

/* Every sample came by here, and all that were to be compared have been. */
static Status add_checked(const Timing *self, ModeTiming timing[MODE_COUNT]) {
    for (int m = 0; m < MODE_COUNT; m++) {
        const ModeSamples *samples = &self->samples[m];
        if (!is_asked_for(self->session, (Mode)m)) timing[m].taken = false, timing[m].count = 0; /* whatever the worker replies */
        if (timing[m].count == 0) continue;
        if (timing[m].count != samples->taken || samples->shown_count != (size_t)samples->wanted_count || samples->shown_count == 0)
            return status_fail(STATUS_INTERNAL, "the worker did not show every sample of %s that was to be compared",
                               mode_name((Mode)m));
        if (self->session->choice->entry->backend != BACKEND_PEER) TRY(check_seconds(self, (Mode)m, &timing[m]));
        timing[m].checked_count = samples->shown_count;
        memcpy(timing[m].checked, samples->shown, sizeof timing[m].checked);
    }
    return STATUS_OK;
}

/* The worker asks for each sample, and at last replies with the times. */
static Status converse(Timing *self, double timeout, bool *taken) {
    Session *s = self->session;
    json_t *reply = NULL;
    instance_poison(s->instance);
    self->helpers = child_helpers(s->worker->child), self->begin = clock_seconds();
    Status status = child_ask(s->worker->child, make_command(self), timeout, &reply);
    for (SampleReply sample; status == STATUS_OK && !s->decided && (sample = reply_sample(reply)).what != SAMPLE_NONE;) {
        json_t *command = NULL;
        status = answer(self, &sample, reply, &command);
        json_decref(reply);
        reply = NULL;
        if (sample.what == SAMPLE_CHECK) instance_poison(s->instance);
        if (status == STATUS_OK && !s->decided)
            status = child_ask(s->worker->child, command, timeout, &reply);
        else
            json_decref(command);
    }
    *taken = status == STATUS_OK && !s->decided && reply_timing(reply, s->row->timing);
    json_decref(reply);
    return status;
}

/* Keys of varied sets are the case's: variants share references. */
static void begin_draw(Session *s) {
    const Draw *given = &s->options->draw;
    if (s->instance->draw == 0) s->instance->draw = given->shared ? given->shared : draw_anew();
    s->draw = (Draw){.shared = s->instance->draw, .own = given->shared ? given->own : draw_anew()};
}

Status timed_take(Session *s, double timeout_seconds, bool *taken) {
    const RunOptions *o = s->options;
    const SamplingPace pace = {.min_samples = o->min_samples, .seconds = o->seconds_per_mode};
    const size_t least = o->draw.samples ? o->draw.samples : sampling_least(&pace, s->first_seconds),
                 most = o->draw.samples ? o->draw.samples : o->max_samples;
    Timing timing = {.session = s, .least = least, .most = most > least ? most : least};
    if (!pilot_may_count(&timing) && o->draw.samples == 0) timing.precision = o->precision;
    begin_draw(s);
    *taken = false;
    Status status = prepare_references(s, timing.precision);
    if (status == STATUS_OK) status = converse(&timing, timeout_seconds, taken);
    s->draw.samples = timing.samples[timing.mode].of;
    s->draw.in_rounds = timing.precision > 0 || o->draw.in_rounds;
    memcpy(s->draw.rounds, timing.samples[timing.mode].rounds, sizeof s->draw.rounds);
    if (*taken) status = add_checked(&timing, s->row->timing);
    if (status != STATUS_OK) {
        timing_free(s->row->timing);
        *taken = false;
    }
    return status;
}
