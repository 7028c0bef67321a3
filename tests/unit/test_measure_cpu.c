#include "base/stats.h"
#include "measure/measure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <string.h>

typedef struct Job {
    size_t calls, fails_at, put_away;
    double busy_seconds;
} Job;

static Status work(void *context) {
    Job *job = context;
    job->calls++;
    if (job->calls == job->fails_at) return status_fail(STATUS_CHECK, "call %zu went wrong", job->calls);
    for (const double begin = clock_seconds(); clock_seconds() - begin < job->busy_seconds;) continue;
    return STATUS_OK;
}

static const SamplingPace ENOUGH = {.min_samples = 2, .max_samples = 4, .seconds = 1e9};
static const SamplingPace HURRIED = {.min_samples = 2, .max_samples = 1000, .seconds = 0};

static void counts_obey_the_limits(void **state) {
    (void)state;
    static const Mode modes[] = {MODE_COLD, MODE_HOT};
    for (size_t m = 0; m < 2; m++) {
        Job job = {.busy_seconds = 1e-4};
        const MeasuredWork measured = {.run = work, .context = &job};
        Samples samples;
        assert_int_equal(measure_cpu(modes[m], &measured, &ENOUGH, &samples), STATUS_OK);
        assert_int_equal(samples.count, 4);
        for (size_t i = 0; i < samples.count; i++) assert_true(samples.seconds[i] >= 1e-4); /* the work takes at least that */
        assert_string_equal(samples.clock, "steady clock");
        assert_string_equal(samples.why_none, "");
        assert_null(samples.sm_mhz);
        samples_free(&samples);
        assert_int_equal(measure_cpu(modes[m], &measured, &HURRIED, &samples), STATUS_OK);
        assert_int_equal(samples.count, 2);
        samples_free(&samples);
        assert_null(samples.seconds);
    }
}

/* A call of a tenth of a second or more is never run for nothing: the pilot is the first sample. */
static void a_long_pilot_is_a_sample(void **state) {
    (void)state;
    Job job = {.busy_seconds = 0.11};
    const MeasuredWork measured = {.run = work, .context = &job};
    const SamplingPace pace = {.min_samples = 3, .max_samples = 100, .seconds = 0.2};
    Samples samples;
    assert_int_equal(measure_cpu(MODE_HOT, &measured, &pace, &samples), STATUS_OK);
    assert_int_equal(samples.count, 3);
    assert_int_equal(job.calls, 3);
    assert_int_equal(samples.calls_per_sample, 1);
    samples_free(&samples);
}

static void short_work_is_repeated_within_a_hot_sample(void **state) {
    (void)state;
    Job job = {0};
    const MeasuredWork measured = {.run = work, .context = &job};
    Samples samples;
    assert_int_equal(measure_cpu(MODE_HOT, &measured, &ENOUGH, &samples), STATUS_OK);
    assert_true(samples.calls_per_sample > 1);
    assert_true(3 * job.calls > 2 * 4 * samples.calls_per_sample); /* the samples, each up to a third shorter, and their pilots */
    samples_free(&samples);
    assert_int_equal(measure_cpu(MODE_COLD, &measured, &HURRIED, &samples), STATUS_OK);
    assert_int_equal(samples.calls_per_sample, 1); /* a second call would not be cold */
    samples_free(&samples);
}

/* What a call leaves is put away before the next call, after every one and outside of its time. */
static Status slowly_put_away(void *context) {
    Job *job = context;
    job->put_away++;
    if (job->put_away != job->calls) return status_fail(STATUS_CHECK, "call %zu left something", job->calls);
    for (const double begin = clock_seconds(); clock_seconds() - begin < 0.02;) continue;
    return STATUS_OK;
}

static void what_a_call_leaves_is_put_away_after_each(void **state) {
    (void)state;
    static const Mode modes[] = {MODE_COLD, MODE_HOT};
    for (size_t m = 0; m < 2; m++) {
        Job job = {0};
        const MeasuredWork measured = {.run = work, .context = &job, .after = slowly_put_away};
        Samples samples;
        assert_int_equal(measure_cpu(modes[m], &measured, &ENOUGH, &samples), STATUS_OK);
        assert_int_equal(samples.calls_per_sample, 1); /* short as it is */
        assert_true(job.calls > 0);
        assert_int_equal(job.put_away, job.calls);
        double least = 1;
        for (size_t i = 0; i < samples.count; i++)
            if (samples.seconds[i] < least) least = samples.seconds[i];
        assert_true(least < 0.02);
        samples_free(&samples);
    }
}

/* before() is called for every sample and pilot, taken() for every sample that counts, each while nothing ran in between. */
typedef struct Places {
    Job job;
    SamplePlace place;
    size_t samples, calls_before;
} Places;

static Status work_at_place(void *context) {
    return work(&((Places *)context)->job);
}

static Status before(void *context, const SamplePlace *place) {
    Places *places = context;
    places->place = *place;
    places->calls_before = places->job.calls;
    return STATUS_OK;
}

static Status taken(void *context, const SamplePlace *place) {
    Places *places = context;
    if (places->job.calls == places->calls_before) return status_fail(STATUS_CHECK, "no call since before()");
    if (place->index != places->samples || place->index != places->place.index || place->pilot != places->place.pilot)
        return status_fail(STATUS_CHECK, "sample %zu after %zu", place->index, places->samples);
    places->samples++;
    if (place->count != 3) return status_fail(STATUS_CHECK, "of %zu samples", place->count);
    return STATUS_OK;
}

static void samples_are_announced_and_shown(void **state) {
    (void)state;
    static const Mode modes[] = {MODE_COLD, MODE_HOT};
    static const double seconds[] = {1e-4, 0.11}; /* the longer is its own pilot */
    for (size_t k = 0; k < 4; k++) {
        Places places = {.job = {.busy_seconds = seconds[k / 2]}};
        const MeasuredWork measured = {.run = work_at_place, .context = &places, .before = before, .taken = taken};
        Samples samples;
        assert_int_equal(measure_cpu(modes[k % 2], &measured, &(SamplingPace){.min_samples = 3, .max_samples = 3}, &samples),
                         STATUS_OK);
        assert_int_equal(samples.count, 3);
        assert_int_equal(places.samples, 3);
        assert_string_equal(places.place.mode, mode_name(modes[k % 2]));
        assert_int_equal(places.place.back_to_back, modes[k % 2] == MODE_HOT);
        assert_int_equal(places.place.warm, modes[k % 2] == MODE_HOT);
        samples_free(&samples);
    }
}

/* Between two calls of a hot sample, and only there: the state is another before each call, and 0 before the last. */
typedef struct States {
    size_t state, calls, of_sample, repeated;
    bool began;
} States;

static Status look_at_state(void *context) {
    States *states = context;
    if (states->began) states->repeated++;
    states->began = true;
    states->calls++;
    states->of_sample++;
    return STATUS_OK;
}

static Status change_state(void *context, size_t state, bool called) {
    States *states = context;
    (void)called;
    if (state != states->state) states->began = false;
    states->state = state;
    return STATUS_OK;
}

static Status begin_states(void *context, const SamplePlace *place) {
    States *states = context;
    (void)place;
    *states = (States){.calls = states->calls, .repeated = states->repeated};
    return STATUS_OK;
}

static Status end_states(void *context, const SamplePlace *place) {
    const States *states = context;
    (void)place;
    return states->state == 0 && states->of_sample > 1 ? STATUS_OK : status_fail(STATUS_CHECK, "ended in state %zu", states->state);
}

static void no_call_of_a_hot_sample_finds_what_the_one_before_it_found(void **state) {
    (void)state;
    States states = {0};
    MeasuredWork measured = {.run = look_at_state,
                             .context = &states,
                             .before = begin_states,
                             .taken = end_states,
                             .between = change_state,
                             .between_context = &states};
    Samples samples;
    assert_int_equal(measure_cpu(MODE_HOT, &measured, &ENOUGH, &samples), STATUS_OK);
    assert_true(samples.calls_per_sample > 1 && states.calls > 4);
    assert_int_equal(states.repeated, 0);
    assert_true(samples.between_seconds > 0);
    for (size_t i = 0; i < samples.count; i++) assert_true(samples.seconds[i] > 0);
    samples_free(&samples);
    measured.taken = NULL;
    assert_int_equal(measure_cpu(MODE_COLD, &measured, &HURRIED, &samples), STATUS_OK);
    assert_true(samples.between_seconds == 0);
    samples_free(&samples);
}

/* It takes as long as the call, and the times are the call's. */
static Status busy_call(void *context) {
    (void)context;
    for (const double begin = clock_seconds(); clock_seconds() - begin < 5e-6;) continue;
    return STATUS_OK;
}

static Status busy_between(void *context, size_t state, bool called) {
    (void)state, (void)called;
    return busy_call(context);
}

static bool is_five_microseconds(double seconds) {
    return seconds > 4.5e-6 && seconds < 7e-6;
}

/* On a busy machine in one of a few tries. */
static void what_lies_between_calls_is_not_in_their_time(void **state) {
    (void)state;
    enum { TRIES = 10 };
    const MeasuredWork measured = {.run = busy_call, .between = busy_between};
    double least = 0, between = 0;
    for (int t = 0; t < TRIES && !(is_five_microseconds(least) && is_five_microseconds(between)); t++) {
        Samples samples;
        assert_int_equal(measure_cpu(MODE_HOT, &measured, &(SamplingPace){.min_samples = 50, .max_samples = 50}, &samples),
                         STATUS_OK);
        least = stats_of(samples.seconds, samples.count).min, between = samples.between_seconds;
        samples_free(&samples);
    }
    assert_true(is_five_microseconds(least));
    assert_true(is_five_microseconds(between));
}

static Status refuse(void *context, const SamplePlace *place) {
    (void)context;
    return place->index == 1 ? status_fail(STATUS_CHECK, "outputs of sample 1 are wrong") : STATUS_OK;
}

static void a_refused_sample_ends_the_mode(void **state) {
    (void)state;
    Job job = {.busy_seconds = 1e-4};
    const MeasuredWork measured = {.run = work, .context = &job, .taken = refuse};
    Samples samples;
    assert_int_equal(measure_cpu(MODE_COLD, &measured, &HURRIED, &samples), STATUS_CHECK);
    assert_int_equal(samples.count, 0);
    assert_non_null(strstr(status_message(), "sample 1"));
    samples_free(&samples);
}

static void modes_that_a_cpu_lacks_say_why(void **state) {
    (void)state;
    Job job = {0};
    const MeasuredWork measured = {.run = work, .context = &job};
    static const Mode modes[] = {MODE_GRAPH, MODE_ENQUEUE, MODE_COMPLETE};
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
        Samples samples;
        assert_int_equal(measure_cpu(modes[m], &measured, &ENOUGH, &samples), STATUS_OK);
        assert_int_equal(samples.count, 0);
        assert_true(strlen(samples.why_none) > 10);
        assert_null(samples.seconds);
        samples_free(&samples);
    }
    assert_int_equal(job.calls, 0);
}

static int threads_of_this_process(void) {
    int threads = -2; /* . and .. */
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    while (readdir(tasks)) threads++;
    closedir(tasks);
    return threads;
}

/* A thread that has been joined may be listed for a moment longer. */
static Status work_alone(void *context) {
    int *most = context;
    for (const double begin = clock_seconds(); clock_seconds() - begin < 0.5 && threads_of_this_process() > 1;) continue;
    const int threads = threads_of_this_process();
    if (threads > *most) *most = threads;
    return STATUS_OK;
}

static void emptying_caches_leaves_no_threads_behind(void **state) {
    (void)state;
    int most = 0;
    const MeasuredWork measured = {.run = work_alone, .context = &most};
    Samples samples;
    assert_int_equal(measure_cpu(MODE_COLD, &measured, &HURRIED, &samples), STATUS_OK);
    samples_free(&samples);
    assert_int_equal(most, 1);
}

static void failing_work_propagates_its_status(void **state) {
    (void)state;
    for (size_t fails_at = 1; fails_at <= 4; fails_at++) { /* in the pilot and in the series */
        Job job = {.fails_at = fails_at, .busy_seconds = 1e-4};
        const MeasuredWork measured = {.run = work, .context = &job};
        Samples samples;
        assert_int_equal(measure_cpu(MODE_HOT, &measured, &ENOUGH, &samples), STATUS_CHECK);
        assert_int_equal(samples.count, 0);
        assert_null(samples.seconds);
        assert_non_null(strstr(status_message(), "went wrong"));
        samples_free(&samples);
    }
}

static void pilots_buy_samples(void **state) {
    (void)state;
    const SamplingPace pace = {.min_samples = 5, .max_samples = 100, .seconds = 2};
    assert_int_equal(sampling_count(&pace, 0.1), 20);
    assert_int_equal(sampling_count(&pace, 3.0), 5);
    assert_int_equal(sampling_count(&pace, 1e-9), 100);
    assert_int_equal(sampling_count(&pace, 0), 100);
    const SamplingPace contradictory = {.min_samples = 9, .max_samples = 3, .seconds = 1};
    assert_int_equal(sampling_count(&contradictory, 1e-9), 9);
    const SamplingPace zero = {0};
    assert_int_equal(sampling_count(&zero, 1), 1);
}

static void rounds_end_before_the_last_sample(void **state) {
    (void)state;
    const SamplingPace precise = {.min_samples = 9, .max_samples = 101, .precision = 0.005}, fixed = {.min_samples = 9};
    assert_int_equal(sampling_round(&precise, 0, 101), 9);
    assert_int_equal(sampling_round(&precise, 9, 101), 30);
    assert_int_equal(sampling_round(&precise, 30, 101), 101);
    assert_int_equal(sampling_round(&precise, 0, 9), 9);
    assert_int_equal(sampling_round(&precise, 9, 10), 10);
    assert_int_equal(sampling_round(&fixed, 0, 101), 101);
}

/* A source whose samples last so long, and a device that is hot for the first readings. */
typedef struct Heat {
    double seconds[64];
    size_t taken;
    int hot, afters;
} Heat;

static Status take_heat(void *context, Sample *sample) {
    Heat *heat = context;
    sample->seconds = heat->seconds[heat->taken++ % 64];
    return STATUS_OK;
}

static bool is_hot(void *context) {
    Heat *heat = context;
    return heat->hot-- > 0;
}

static Samples series_of(Heat *heat, double precision, Throttling *throttling) {
    const SamplingPace pace = {.min_samples = 9, .max_samples = 30, .seconds = 1e9, precision, throttling};
    const MeasuredWork work = {0};
    const Sample pilot = {.seconds = 1e-6, .wall = 1e-6};
    Samples samples = {0};
    for (size_t i = 0; i < 64; i++) heat->seconds[i] = i % 2 ? 1.1 : 1;
    assert_int_equal(sampling_run(&(SamplingSource){MODE_HOT, &work, take_heat, heat, &pace, false}, &pilot, &samples), STATUS_OK);
    return samples;
}

static void samples_end_when_they_are_precise(void **state) {
    (void)state;
    Heat heat = {0};
    Samples precise = series_of(&heat, 0.06, NULL), rough = series_of(&heat, 0.001, NULL), fixed = series_of(&heat, 0, NULL);
    assert_int_equal(precise.count, 9);
    assert_string_equal(precise.stopped, "precision");
    assert_int_equal(rough.count, 30);
    assert_string_equal(rough.stopped, "samples");
    assert_int_equal(fixed.count, 30);
    assert_string_equal(fixed.stopped, "samples");
    samples_free(&precise), samples_free(&rough), samples_free(&fixed);
}

static void throttled_samples_are_taken_again(void **state) {
    (void)state;
    Heat heat = {.hot = 2};
    Throttling throttling = {.now = is_hot, .context = &heat};
    const double begin = clock_seconds();
    Samples samples = series_of(&heat, 0, &throttling);
    assert_int_equal(samples.count, 30);
    assert_int_equal(heat.taken, 32);
    assert_int_equal(throttling.retaken, 2);
    assert_int_equal(throttling.remain, 0);
    assert_true(throttling.pause == 0.5 && clock_seconds() - begin >= 0.75); /* 0.25 s, then twice as long */
    samples_free(&samples);
    heat = (Heat){.hot = 1000};
    throttling.pause = 4;
    samples = series_of(&heat, 0, &throttling);
    assert_int_equal(heat.taken, 30);
    assert_int_equal(throttling.remain, 30);
    samples_free(&samples);
}

static void slow_calls_have_few_samples(void **state) {
    (void)state;
    const SamplingPace nine = {.min_samples = 9, .max_samples = 101, .seconds = 1}, one = {.min_samples = 1, .seconds = 1};
    assert_int_equal(sampling_least(&nine, 0), 9);
    assert_int_equal(sampling_least(&nine, 0.2), 9);
    assert_int_equal(sampling_least(&nine, 0.4), 5);
    assert_int_equal(sampling_least(&nine, 7), 3);
    assert_int_equal(sampling_least(&one, 7), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_obey_the_limits),
        cmocka_unit_test(a_long_pilot_is_a_sample),
        cmocka_unit_test(short_work_is_repeated_within_a_hot_sample),
        cmocka_unit_test(what_a_call_leaves_is_put_away_after_each),
        cmocka_unit_test(samples_are_announced_and_shown),
        cmocka_unit_test(no_call_of_a_hot_sample_finds_what_the_one_before_it_found),
        cmocka_unit_test(what_lies_between_calls_is_not_in_their_time),
        cmocka_unit_test(a_refused_sample_ends_the_mode),
        cmocka_unit_test(modes_that_a_cpu_lacks_say_why),
        cmocka_unit_test(emptying_caches_leaves_no_threads_behind),
        cmocka_unit_test(failing_work_propagates_its_status),
        cmocka_unit_test(pilots_buy_samples),
        cmocka_unit_test(rounds_end_before_the_last_sample),
        cmocka_unit_test(samples_end_when_they_are_precise),
        cmocka_unit_test(throttled_samples_are_taken_again),
        cmocka_unit_test(slow_calls_have_few_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
