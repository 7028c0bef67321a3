/* calls.c - calls after the samples, in the same worker: by this process's clock, for their bits, for their energy. */
#include "pipeline/evaluate.h"

#include "base/clock.h"
#include "protocol.h"

#include <math.h>
#include <stdio.h>

/* ---- The worker's clock against this process's: both time so many calls of the mode hot that commands and replies are small
 * beside them. */

static const double AT_LEAST_SECONDS = 0.05; /* of calls, for the commands' own time to be small beside them */
static const double SHARE_OF_ROW = 0.2;      /* that it may take of the time of the row's samples, meant or taken */
static const double AGREES = 1.02;
static const double FORGED = 1.1;         /* samples are taken at other times: on a busy machine these were up to 5% shorter */
static const double BURST_SECONDS = 2e-3; /* of calls, for some bursts to meet nothing else on a busy machine */
static const double REPLY_SECONDS = 1e-4; /* that a reply may take longer where calls leave threads */
static const double FAR = 64;
static const double OWN_MOST_SECONDS = 5e-6;
static const double RESTORED_SECONDS = 1e-9;                           /* a byte of an array that is updated in place */
static const double ALONE = 2, ALONE_CHECKED = 1.5, ALONE_COLD = 1.25; /* caches are not as warm as back to back */
static const double ALONE_SECONDS = 5e-6, COOL_SECONDS = 2e-6, BEGIN_SECONDS = 2e-7, WAKING_SECONDS = 3e-4;
static const double AGREES_FINAL = 1.05, FORGED_FINAL = 1.5, FINAL_SLACK = 0.1;
static const double FINAL_TEAM_SECONDS = 3e-5;                            /* a team is to be woken */
static const double FINAL_QUICK_SECONDS = 0.05, FINAL_OWN_SECONDS = 5e-5; /* around a call, where the machine is not busy */
static const double QUIET = 0.9;                                          /* CPU time of a thread that has its processor alone */
enum { ANY = -1, TRIES = 5, TRIES_ALONE = 3, BURSTS_LEAST = 10, BURSTS_MOST = 50 };
enum { FINAL_LEAST = 2, FINAL_MOST = 10, WARM_MOST = 1000 };
enum { OF_TRIES = 1, OF_BURSTS = OF_TRIES + TRIES, OF_COLD, OF_ALONE }; /* varied sets, after that of samples */

typedef struct Outside {
    double seconds, cpu, said; /* by this process; of CPU time; by the worker */
} Outside;

/* Of which this process takes the time. set: of the inputs; ANY: any, which nobody compares. left_out: without the calls, that is
 * what the harness does around them. cold: of the mode cold, else of hot, where of a library's the last is timed. */
typedef struct Calls {
    int set;
    size_t count;
    bool left_out, cold;
} Calls;

/* Seconds, by this process, of short runs without their calls and with them: the least so far. */
typedef struct Shortest {
    double without, with;
} Shortest;

static Status time_calls_on(Session *s, const Calls *calls, double timeout, Outside *out) {
    const uint64_t key = calls->set == ANY ? draw_of(&s->draw, MODE_HOT, DRAW_CALLS, s->timed_calls++)
                                           : instance_key(s->instance, (DataSet)calls->set);
    json_t *reply = NULL;
    TRY(child_ask(s->worker->child,
                  json_pack("{s:s, s:I, s:b, s:b, s:I, s:o}", KEY_DO, DO_CALLS, KEY_CALLS, (json_int_t)calls->count, KEY_LEFT_OUT,
                            calls->left_out, KEY_COLD, calls->cold, KEY_KEY, (json_int_t)key, KEY_VARY, instance_vary(s->instance)),
                  timeout, &reply));
    json_decref(reply);
    reply = NULL;
    json_t *go = json_pack("{s:s}", KEY_DO, DO_CONTINUE);
    const double cpu = child_seconds(s->worker->child);
    TRY(child_time(s->worker->child, go, s->row->threads == 1, timeout, &out->seconds, &reply));
    out->cpu = child_seconds(s->worker->child) - cpu, out->said = json_number_value(json_object_get(reply, KEY_SECONDS));
    json_decref(reply);
    return STATUS_OK;
}

static Status time_calls(Session *s, size_t calls, bool left_out, double timeout, Outside *out) {
    return time_calls_on(s, &(Calls){.set = ANY, .count = calls, .left_out = left_out}, timeout, out);
}

/* A call that computes less here than in its samples would hide that they are too short: the last one's outputs are compared, on
 * varied set k. */
static Status time_compared(Session *s, int k, size_t calls, bool cold, double timeout, Outside *out) {
    const DataSet set = instance_varied(MODE_HOT, k);
    json_t *reply = NULL;
    char when[80];
    snprintf(when, sizeof when, "in timing, %s, the last call by the parent's clock: ", mode_name(cold ? MODE_COLD : MODE_HOT));
    instance_poison(s->instance); /* before: a library's worker writes them when its call is done */
    TRY(time_calls_on(s, &(Calls){.set = (int)set, .count = calls, .cold = cold}, timeout, out));
    TRY(child_ask(s->worker->child, json_pack("{s:s}", KEY_DO, DO_SHOW), timeout, &reply));
    const Status status = session_take_counts(s->instance, reply);
    json_decref(reply);
    TRY(status);
    TRY(compare_outputs(s, set, when, NULL));
    if (k > OF_TRIES && (k != OF_ALONE || instance_is_large(s->instance))) instance_forget(s->instance, set); /* seldom needed */
    return STATUS_OK;
}

/* As many calls as take long enough. */
static Status enough_calls(Session *s, double timeout, size_t *calls) {
    Outside run;
    for (*calls = 1;;) {
        TRY(time_calls(s, *calls, false, timeout, &run));
        if (run.seconds >= AT_LEAST_SECONDS) return STATUS_OK;
        *calls = (size_t)((double)*calls * fmin(1.2 * AT_LEAST_SECONDS / run.seconds, FAR)) + 1;
    }
}

/* Seconds of a call, of so many together: with commands and replies, for what is taken off a run could be put there. One core's
 * time, which a busy machine does not lengthen. */
static double of_a_call(const Session *s, const Outside *run, size_t calls) {
    return (s->row->threads == 1 ? fmin(run->seconds, run->cpu) : run->seconds) / (double)calls;
}

/* Samples that say less than this process. */
static void refuse_samples(Session *s, Mode mode, double seconds) {
    char reason[256];
    snprintf(reason, sizeof reason, "in timing, %s: a call takes %.3g s by the parent's clock, and its samples say %.3g s",
             mode_name(mode), seconds, s->row->timing[mode].stats.median);
    decide(s, VERDICT_FAIL, reason);
}

static void refuse_clock(Session *s, double seconds, double said) {
    char reason[256];
    snprintf(reason, sizeof reason, "in timing, hot: a call takes %.3g s by the parent's clock, and %.3g s by the worker's",
             seconds, said);
    decide(s, VERDICT_FAIL, reason);
}

/* Of what was measured between two calls: the harness takes no longer, or it was not the harness. */
static double harness_part(const Session *s, double seconds) {
    double most = OWN_MOST_SECONDS;
    for (int i = 0; i < s->instance->op->out_count; i++)
        if (instance_updates(s->instance, i)) most += RESTORED_SECONDS * (double)array_bytes(&s->instance->out[i]);
    return fmin(seconds, most);
}

static Status time_between(Session *s, size_t calls, double timeout, double *seconds) {
    Outside run;
    TRY(time_calls(s, calls, true, timeout, &run));
    *seconds = harness_part(s, fmin(run.seconds, run.cpu) / (double)calls);
    return STATUS_OK;
}

/* The least that short runs take, where the machine does nothing else; of one the outputs are compared, with varied set k. said:
 * what the worker does not say of it. */
static Status time_bursts(Session *s, size_t few, int k, bool left_out, double timeout, Outside *least) {
    const double burst = (double)few * s->row->timing[MODE_HOT].stats.median, many = k >= OF_ALONE ? 1 : BURSTS_MOST;
    const int bursts = (int)fmax(BURSTS_LEAST, fmin(BURSTS_MOST, many * BURST_SECONDS / burst)),
              compared = left_out ? bursts : (int)(draw_of(&s->draw, MODE_FIRST, DRAW_CALLS, (size_t)k) % (uint64_t)bursts);
    *least = (Outside){INFINITY, INFINITY, INFINITY};
    for (int i = 0; i < bursts && !s->decided; i++) {
        Outside now;
        TRY(i == compared ? time_compared(s, k, few, false, timeout, &now) : time_calls(s, few, left_out, timeout, &now));
        least->seconds = fmin(least->seconds, now.seconds), least->cpu = fmin(least->cpu, now.cpu);
        least->said = fmin(least->said, now.seconds - now.said);
    }
    return STATUS_OK;
}

/* Seconds of one of `few` calls, and those of them that the worker does not say. */
static Status time_quietest(Session *s, size_t few, int k, double timeout, Shortest *runs, double *seconds, double *unsaid) {
    Outside without, with;
    TRY(time_bursts(s, few, k, true, timeout, &without));
    TRY(time_bursts(s, few, k, false, timeout, &with));
    *runs = (Shortest){fmin(runs->without, without.seconds), fmin(runs->with, with.seconds)};
    with.seconds -= without.seconds, with.cpu -= fmin(without.seconds, without.cpu); /* another thread's is none of it */
    *seconds = of_a_call(s, &with, few);
    *unsaid = (with.said - without.said - REPLY_SECONDS) / (double)few;
    return STATUS_OK;
}

/* least: seconds of one of many calls. */
static Status compare_clocks(Session *s, double timeout, bool last, bool *far, double *least) {
    ModeTiming *hot = &s->row->timing[MODE_HOT];
    const double sample = hot->stats.median; /* not the interval's end: samples can be forged so that it is wide */
    double own = INFINITY, unsaid = 0, between, now = 0;
    bool clocks_agree = false;
    Outside run;
    size_t enough, calls;
    *least = INFINITY;
    TRY(enough_calls(s, timeout, &enough));
    for (int i = 0; i < TRIES; i++) {
        calls = enough << i;
        calls += draw_of(&s->draw, MODE_HOT, DRAW_CALLS, s->timed_calls) % calls; /* no call can tell that it is the last */
        TRY(time_compared(s, OF_TRIES + i, calls, false, timeout, &run));
        if (s->decided) return STATUS_OK;
        TRY(time_between(s, calls, timeout, &between));
        now = of_a_call(s, &run, calls);
        own = fmin(own, between), *least = fmin(*least, now);
        clocks_agree = clocks_agree || now <= AGREES * run.said / (double)calls;
        hot->clock_by = clocks_agree && *least <= AGREES * (sample + own) ? CLOCK_BOTH : CLOCK_WORKER;
        if (hot->clock_by == CLOCK_BOTH) return STATUS_OK;
    }
    bool below = s->row->threads == 1 && *least > FORGED * (sample + own);
    if (!clocks_agree || below) { /* or the machine was busy */
        const size_t few = (size_t)fmin(BURST_SECONDS / sample, (double)enough) + 1;
        Shortest runs = {INFINITY, INFINITY};
        TRY(time_quietest(s, few, OF_BURSTS, timeout, &runs, &now, &unsaid));
        if (s->decided) return STATUS_OK;
        clocks_agree = clocks_agree || unsaid <= (AGREES - 1) * now;
        below = below && now > FORGED * sample;
    }
    *far = clocks_agree && below && !last;
    if (!clocks_agree)
        refuse_clock(s, now, now - fmin(unsaid, now));
    else if (below && last)
        refuse_samples(s, MODE_HOT, now);
    return STATUS_OK;
}

/* Mode whose samples say far less than a call alone takes, on data of its own and with warm caches; MODE_COUNT: none. */
static Mode far_below(const Session *s, double alone) {
    const ModeTiming *hot = &s->row->timing[MODE_HOT], *cold = &s->row->timing[MODE_COLD];
    if (alone > ALONE * hot->stats.median + ALONE_SECONDS) return MODE_HOT;
    return cold->count > 0 && alone > ALONE_COLD * cold->stats.median + ALONE_SECONDS ? MODE_COLD : MODE_COUNT;
}

static void refuse_alone(Session *s, Mode mode, double alone) {
    char reason[256];
    snprintf(reason, sizeof reason, "in timing, %s: a call alone, on data of its own, takes %.3g s, and its samples say %.3g s",
             mode_name(mode), alone, s->row->timing[mode].stats.median);
    decide(s, VERDICT_FAIL, reason);
}

/* Calls of a sample of `hot` find all but a few elements as the call before them left them: one that computes only what these
 * change, or only in the last, is slow where a call is alone. And no cold call is faster than a warm one. On a busy machine others
 * use the caches between two commands, and a call alone is slow too: then the clock is not said to be checked. */
static Status compare_alone(Session *s, double timeout, double least) {
    ModeTiming *hot = &s->row->timing[MODE_HOT];
    const double sample = hot->stats.median;
    const bool slow = 2 * BURSTS_LEAST * sample > SHARE_OF_ROW * (clock_seconds() - s->began);
    double alone = slow ? least : INFINITY, now, unsaid;
    Shortest runs = {INFINITY, INFINITY};
    Outside run;
    Mode mode = slow ? far_below(s, least) : MODE_HOT;
    if (s->choice->entry->backend != BACKEND_CPU) return STATUS_OK;
    if (s->row->threads != 1 && sample < WAKING_SECONDS) hot->clock_by = CLOCK_WORKER; /* alone, threads are to be woken */
    if (s->row->threads != 1) return STATUS_OK;
    for (int i = 0; i < TRIES_ALONE && mode != MODE_COUNT && !slow && !s->decided; i++) {
        TRY(time_quietest(s, 1, OF_ALONE + i, timeout, &runs, &now, &unsaid));
        alone = fmin(alone, now);
        mode = far_below(s, alone);
    }
    /* The CPU time of a process that has just replied may say too little: it refuses nothing wrongly, and shows nothing. */
    const double shown = slow ? least : runs.with - runs.without;
    const double most = fmin(ALONE * sample + BEGIN_SECONDS, ALONE_CHECKED * sample + COOL_SECONDS);
    if (shown > most || shown < least / 2) hot->clock_by = CLOCK_WORKER; /* too short, or disturbed */
    if (s->decided || mode == MODE_COUNT) return STATUS_OK;
    hot->clock_by = CLOCK_WORKER;
    TRY(time_calls(s, (size_t)(AT_LEAST_SECONDS / sample) + 1, false, timeout, &run));
    if (run.cpu > QUIET * run.seconds) refuse_alone(s, mode, alone);
    return STATUS_OK;
}

/* ---- The final call of a sample, as those of `cold` are taken, and a library's of `hot`. */

/* As many calls as a sample has, of any inputs. */
static Calls calls_of(const Session *s, Mode mode, bool left_out) {
    const double few = mode == MODE_COLD ? 0 : SAMPLING_SECONDS_MIN / s->row->timing[mode].stats.median;
    return (Calls){.set = ANY, .count = 1 + (size_t)fmin(few, WARM_MOST), .left_out = left_out, .cold = mode == MODE_COLD};
}

/* What the parent takes for a call, beside its samples. */
static double final_slack(const Session *s) {
    return s->row->threads == 1 ? COOL_SECONDS : FINAL_TEAM_SECONDS;
}
static bool final_agrees(const Session *s, Mode mode, const Shortest *runs) {
    const double alone = runs->with - fmin(runs->without, FINAL_OWN_SECONDS);
    return alone <= AGREES_FINAL * s->row->timing[mode].stats.median + final_slack(s);
}

/* The least so far of a few calls. Ends once that agrees and a call was compared. long_ones: how many more than not took CPU time
 * far above the samples; that of a short call is not always told. */
static Status time_final(Session *s, Mode mode, int calls, double timeout, Shortest *runs, int *long_ones) {
    const int compared = (int)(draw_of(&s->draw, mode, DRAW_CALLS, s->timed_calls) % (uint64_t)calls);
    const Calls without = calls_of(s, mode, true), with = calls_of(s, mode, false);
    const double far_above = FORGED_FINAL * s->row->timing[mode].stats.median + ALONE_SECONDS;
    Outside run;
    for (int i = 0; i < calls && !s->decided && (i <= compared || !final_agrees(s, mode, runs)); i++) {
        TRY(time_calls_on(s, &without, timeout, &run));
        runs->without = fmin(runs->without, run.seconds);
        TRY(i == compared ? time_compared(s, with.cold ? OF_COLD : OF_TRIES, with.count, with.cold, timeout, &run)
                          : time_calls_on(s, &with, timeout, &run));
        runs->with = fmin(runs->with, run.seconds);
        *long_ones += run.cpu > far_above ? 1 : run.cpu > far_above / 3 ? -1 : 0;
    }
    return STATUS_OK;
}

/* Calls whose time, and that of what is around them, fit into a share of the row's. */
static Status count_final(Session *s, Mode mode, double timeout, int *calls) {
    const double budget = SHARE_OF_ROW * fmax(clock_seconds() - s->began, 2 * s->options->seconds_per_mode);
    const Calls without = calls_of(s, mode, true);
    double each = 0; /* what empties the caches is made for the first */
    Outside run;
    for (int i = 0; i < 2; i++) {
        each = clock_seconds();
        TRY(time_calls_on(s, &without, timeout, &run));
        each = 2 * (clock_seconds() - each + s->row->timing[mode].stats.median);
    }
    *calls = each < FINAL_QUICK_SECONDS ? FINAL_MOST : (int)fmin(budget / each, FINAL_MOST);
    return STATUS_OK;
}

/* The least of a few such calls against the samples' median. Of several threads it says only that they agree. */
static Status compare_final(Session *s, Mode mode, double timeout, bool last, bool *far) {
    ModeTiming *timing = &s->row->timing[mode];
    const bool one = s->row->threads == 1;
    const double median = timing->stats.median;
    Shortest runs = {INFINITY, INFINITY};
    bool forged = true;
    int calls, long_ones = 0;
    if (timing->count == 0 || session_on_gpu(s->choice->entry, s->emulated)) return STATUS_OK;
    TRY(count_final(s, mode, timeout, &calls));
    if (calls < FINAL_LEAST) return STATUS_OK;
    for (int i = 0; i < TRIES_ALONE && forged; i++) {
        TRY(time_final(s, mode, calls, timeout, &runs, &long_ones));
        if (s->decided) return STATUS_OK;
        /* a busy machine lengthens what is around the calls, and no CPU time */
        forged = one && long_ones >= 0 && runs.with > FORGED_FINAL * median + ALONE_SECONDS + 1.5 * runs.without;
    }
    if (final_agrees(s, mode, &runs) && final_slack(s) <= FINAL_SLACK * median) timing->clock_by = CLOCK_BOTH;
    *far = forged && !last;
    if (forged && last) refuse_samples(s, mode, runs.with - runs.without);
    return STATUS_OK;
}

Status check_clock(Session *s, double timeout_seconds, bool last, bool *far) {
    *far = false;
    ModeTiming *timing = s->row->timing, *hot = &timing[MODE_HOT];
    for (int m = 0; m < MODE_COUNT; m++)
        if (timing[m].count > 0) timing[m].clock_by = CLOCK_WORKER;
    const double spent = clock_seconds() - s->began, meant = 2 * s->options->seconds_per_mode; /* cold and hot */
    const bool library = s->choice->entry->backend == BACKEND_PEER;
    Status status = compare_final(s, MODE_COLD, timeout_seconds, last, far);
    if (library && status == STATUS_OK && !s->decided && !*far) status = compare_final(s, MODE_HOT, timeout_seconds, last, far);
    if (status == STATUS_UNSUPPORTED) status = STATUS_OK; /* calls that allocate are not repeated, or the caches are too large */
    if (status != STATUS_OK || s->decided || *far) return status;
    const double needed = 4 * fmax(AT_LEAST_SECONDS, s->first_seconds);
    if (library || hot->count == 0 || needed > SHARE_OF_ROW * fmax(spent, meant)) return STATUS_OK;
    double least;
    status = compare_clocks(s, timeout_seconds, last, far, &least);
    if (status == STATUS_OK && !s->decided && !*far) status = compare_alone(s, timeout_seconds, least);
    return status == STATUS_UNSUPPORTED ? STATUS_OK : status; /* calls that allocate are not repeated */
}

/* ---- Their bits. */

enum { BITS_LEAST = 100, BITS_MOST = 1000 };
static const double BITS_SHARE = 0.05;      /* of the row's time so far, for more than the least */
static const double BITS_OF_RUN = 0.1;      /* of the run's time so far, for more processes than a row's first */
static const double SLOW_SECONDS = 1.0 / 3; /* so slow calls are too few */
static const double ASKED_SECONDS = 600;    /* for a number of calls that was asked for */

/* share: of the run's time so far, for bits. */
static const char *why_no_bits(const Session *s, double share) {
    const RunOptions *options = s->options;
    if (!s->row->timed) return s->row->why_not_timed;
    if (options->bit_calls == 0 || (options->bit_calls < 0 && options->no_ceilings)) return "turned off";
    if (options->bit_calls < 0 && row_call_seconds(s->row) > SLOW_SECONDS) return "too few calls fit into a second";
    if (options->bit_calls < 0 && s->further && share > BITS_OF_RUN) return "a tenth of the run's time was spent on bits";
    return NULL;
}

Status bits_try(Session *s, double timeout_seconds) {
    static double spent, began;
    Row *row = s->row;
    if (began == 0) began = s->began;
    const int asked = s->options->bit_calls;
    const double seconds = asked > 0 ? ASKED_SECONDS : BITS_SHARE * (clock_seconds() - s->began);
    json_t *reply = NULL;
    row->no_bits_reason = why_no_bits(s, spent / (clock_seconds() - began));
    if (row->no_bits_reason) return STATUS_OK;
    instance_poison(s->instance);
    json_t *command = json_pack("{s:s, s:i, s:i, s:f}", KEY_DO, DO_BITS, KEY_MIN_SAMPLES, asked > 0 ? asked : BITS_LEAST,
                                KEY_MAX_SAMPLES, asked > 0 ? asked : BITS_MOST, KEY_SECONDS, seconds);
    Status status = child_ask(s->worker->child, command, timeout_seconds + seconds, &reply);
    if (status == STATUS_OK) bits_read(json_object_get(reply, KEY_BITS), &row->bits);
    spent += row->bits.seconds;
    if (status == STATUS_OK && row->bits.differ) status = session_take_counts(s->instance, reply);
    json_decref(reply);
    return status == STATUS_OK && row->bits.differ ? compare_outputs(s, DATA_FIRST, "in a repeated call: ", NULL) : status;
}

/* ---- Their energy. */

static const double NAMED_SECONDS = 240;  /* of a run, for rows whose scenario asks for it */
static const double WINDOWS_SECONDS = 60; /* of all windows, with what is around them */

/* On a varied set that no sample was taken on: its outputs are compared. */
static Status measure_energy(Session *s, double timeout_seconds) {
    const DataSet set = instance_varied(MODE_HOT, 1);
    json_t *reply = NULL;
    instance_poison(s->instance);
    json_t *command = json_pack("{s:s, s:I, s:o}", KEY_DO, DO_ENERGY, KEY_KEY, (json_int_t)instance_key(s->instance, set), KEY_VARY,
                                instance_vary(s->instance));
    Status status = child_ask(s->worker->child, command, timeout_seconds + WINDOWS_SECONDS, &reply);
    if (status == STATUS_OK) energy_read(json_object_get(reply, KEY_ENERGY), &s->row->energy);
    if (status == STATUS_OK) status = session_take_counts(s->instance, reply);
    json_decref(reply);
    TRY(status);
    s->row->energy.joules_per_element = s->row->work.elements > 0 ? s->row->energy.joules / s->row->work.elements : NAN;
    return compare_outputs(s, set, "while its energy was measured: ", NULL);
}

Status energy_try(Session *s, double timeout_seconds) {
    Row *row = s->row;
    static double spent;
    const bool named = s->choice->energy && !s->further && !s->options->energy;
    row->energy_wanted = s->options->energy || named;
    if (!row->energy_wanted) return STATUS_OK;
    if (named && spent >= NAMED_SECONDS) {
        row_set_text(&row->no_energy_reason, "the 4 minutes that a run has for energy were spent");
        return STATUS_OK;
    }
    if (!row->timed) {
        row_set_text(&row->no_energy_reason, row->why_not_timed);
        return STATUS_OK;
    }
    const double begin = clock_seconds();
    const Status status = measure_energy(s, timeout_seconds);
    if (named) spent += clock_seconds() - begin;
    if (status == STATUS_UNSUPPORTED) row_set_text(&row->no_energy_reason, status_message());
    return status == STATUS_UNSUPPORTED ? STATUS_OK : status;
}
