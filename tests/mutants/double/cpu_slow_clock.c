/* Mutant: is right, and takes 99% of the time of each call out of its process's clock. Must be rejected: no check of outputs can
 * tell, but its times are below what the machine needs to move the bytes. */
#include "variant.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const long NANOSECONDS = 1000000000;
static long hidden; /* nanoseconds */

static long real_nanoseconds(clockid_t clock) {
    struct timespec now;
    syscall(SYS_clock_gettime, clock, &now);
    return now.tv_sec * NANOSECONDS + now.tv_nsec;
}

/* Takes the place of the library's in the whole program. */
int clock_gettime(clockid_t clock, struct timespec *now) {
    const long shown = real_nanoseconds(clock) - (clock == CLOCK_MONOTONIC ? hidden : 0);
    now->tv_sec = shown / NANOSECONDS;
    now->tv_nsec = shown % NANOSECONDS;
    return 0;
}

static Status run(const VariantArgs *args) {
    const long begin = real_nanoseconds(CLOCK_MONOTONIC);
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];
    hidden += (real_nanoseconds(CLOCK_MONOTONIC) - begin) / 100 * 99;
    return STATUS_OK;
}

RUNGS_VARIANT(double,
              cpu_slow_clock) = {.backend = BACKEND_CPU, .summary = "mutant: slows the clock", .origin = "tests", .run = run};
