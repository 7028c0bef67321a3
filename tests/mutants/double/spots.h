/* spots.h - what mutants share whose run() only waits until a helper of theirs has filled y. */
#pragma once

#include "variant.h"

#include <stdbool.h>
#include <time.h>

typedef struct Job {
    const double *volatile x;
    double *volatile y;
    volatile size_t n;
} Job;

static inline void job_set(Job *job, const VariantArgs *args) {
    job->n = 0;
    job->x = args->in[0].data, job->y = args->out[0].data;
    job->n = array_count(&args->in[0]);
}

static inline void job_do(const Job *job) {
    const double *x = job->x;
    double *y = job->y;
    for (size_t i = 0, n = job->n; i < n; i++) y[i] = 2 * x[i];
}

/* Looks at every 1/64th of y. */
static inline bool job_seems_done(const Job *job) {
    const size_t step = job->n / 64 + 1;
    for (size_t i = job->n; i-- > 0; i -= i < step ? i : step)
        if (((const volatile double *)job->y)[i] != 2 * job->x[i]) return false;
    return true;
}

static inline double job_clock(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* y, if a helper has filled it since the last call; or computes it. Calls that follow each other at once leave a helper no time. */
static inline void job_finish(const Job *job) {
    static double last;
    if (job_clock() < last + 5e-3 || !job_seems_done(job)) job_do(job);
    last = job_clock();
}

/* Those of a mutant that has one job, which is set before the first call. */
static Job job __attribute__((unused));

static inline Status job_prepare(const VariantArgs *args, void **state) {
    *state = NULL;
    job_set(&job, args);
    return STATUS_OK;
}
