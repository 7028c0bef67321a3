/* Plain loops that the compiler may inline and vectorise (with -march, as variants) are never judged faster than the hardware,
 * however little they move: 1 to 5000 numbers, at any address, cold and hot. */
#include "base/stats.h"
#include "measure/limit.h"
#include "measure/measure.h"
#include "record/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

enum { N_MAX = 5000, SHIFTS = 2, CONFIRMATIONS = 3 /* as many as before a row fails */ };
static const size_t SHIFT[SHIFTS] = {0, 3}; /* elements: at a line, and at no vector */
static const size_t COUNTS[] = {1, 7, 33, 64, 129, 500, 1000, 2000, N_MAX};
static const SamplingPace FEW = {.min_samples = 15, .max_samples = 15, .seconds = 1e9};

static _Alignas(64) float x[N_MAX + 3], y[N_MAX + 3], z[N_MAX + 3];
static _Alignas(64) uint32_t words[N_MAX + 3];

typedef struct Job {
    size_t n, shift;
} Job;

static Status fill(void *context) {
    const Job *job = context;
    float *restrict to = z + job->shift;
    for (size_t i = 0; i < job->n; i++) to[i] = 3;
    return STATUS_OK;
}

static Status twice(void *context) {
    const Job *job = context;
    const float *restrict from = x + job->shift;
    float *restrict to = z + job->shift;
    for (size_t i = 0; i < job->n; i++) to[i] = 2 * from[i];
    return STATUS_OK;
}

static Status axpy(void *context) {
    const Job *job = context;
    const float *restrict from = x + job->shift, *restrict more = y + job->shift;
    float *restrict to = z + job->shift;
    for (size_t i = 0; i < job->n; i++) to[i] = 2 * from[i] + more[i];
    return STATUS_OK;
}

/* Integers, so that the compiler may reorder the reduction: reads alone. */
static Status all_bits(void *context) {
    const Job *job = context;
    const uint32_t *restrict from = words + job->shift;
    uint32_t bits = 0;
    for (size_t i = 0; i < job->n; i++) bits |= from[i];
    z[0] = bits == 1 ? 1 : 0;
    return STATUS_OK;
}

typedef struct Loop {
    const char *name;
    Status (*run)(void *context);
    double read, written; /* bytes per number */
} Loop;

static const Loop LOOPS[] = {{"fill", fill, 0, 4}, {"twice", twice, 4, 4}, {"axpy", axpy, 8, 4}, {"all_bits", all_bits, 4, 0}};

/* As a row is judged: the limit is measured again before it fails, and the shortest counts. */
static void expect_honest(const Loop *loop, const Job *job, Mode mode) {
    Samples samples;
    const MeasuredWork work = {.run = loop->run, .context = (void *)(uintptr_t)job};
    assert_int_equal(measure_cpu(mode, &work, &FEW, &samples), STATUS_OK);
    const double median = stats_of(samples.seconds, samples.count).median;
    const size_t calls = samples.calls_per_sample;
    samples_free(&samples);
    double limit = INFINITY;
    for (int i = 0; i <= CONFIRMATIONS; i++) {
        Limit out[MEASURE_MODE_COUNT];
        const LimitTask task = {.read = loop->read * (double)job->n,
                                .written = fmax(loop->written * (double)job->n, 4),
                                .modes = 1u << mode,
                                .confirm = i > 0};
        assert_int_equal(limit_cpu(&task, out), STATUS_OK);
        limit = fmin(limit, out[mode].seconds);
        if (!limit_is_beaten(median, limit, false, calls)) return;
    }
    fail_msg("%s of %zu numbers, shifted by %zu, %s: %.3g ns, limit %.3g ns", loop->name, job->n, job->shift, mode_name(mode),
             median * 1e9, limit * 1e9);
}

static void expect_all_honest(Mode mode, int shifts) {
    for (size_t l = 0; l < sizeof LOOPS / sizeof *LOOPS; l++)
        for (size_t c = 0; c < sizeof COUNTS / sizeof *COUNTS; c++)
            for (int s = 0; s < shifts; s++) expect_honest(&LOOPS[l], &(Job){COUNTS[c], SHIFT[s]}, mode);
}

static void hot_loops_are_honest(void **state) {
    (void)state;
    if (strcmp(PROGRAM.build_type, "Release") != 0) skip(); /* others take no times */
    expect_all_honest(MODE_HOT, SHIFTS);
}

static void cold_loops_are_honest(void **state) {
    (void)state;
    if (strcmp(PROGRAM.build_type, "Release") != 0) skip();
    expect_all_honest(MODE_COLD, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(hot_loops_are_honest), cmocka_unit_test(cold_loops_are_honest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
