/* Mutant: is right, and makes the clock of its process 300 times slower from its first call on. Must be rejected: no check
 * of outputs can tell, but its times are below what the machine needs to move the bytes. */
#include "variant.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const long SLOWER = 300, NANOSECONDS = 1000000000;
static struct timespec since; /* when it was slowed; 0: not yet */

static int read_clock(clockid_t clock, struct timespec *now) {
    return (int)syscall(SYS_clock_gettime, clock, now);
}

/* Takes the place of the library's in the whole program. */
int clock_gettime(clockid_t clock, struct timespec *now) {
    const int result = read_clock(clock, now);
    if (result != 0 || since.tv_sec == 0 || clock != CLOCK_MONOTONIC) return result;
    const long passed = ((now->tv_sec - since.tv_sec) * NANOSECONDS + now->tv_nsec - since.tv_nsec) / SLOWER + since.tv_nsec;
    now->tv_sec = since.tv_sec + passed / NANOSECONDS;
    now->tv_nsec = passed % NANOSECONDS;
    return 0;
}

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];
    if (since.tv_sec == 0) read_clock(CLOCK_MONOTONIC, &since);
    return STATUS_OK;
}

RUNGS_VARIANT(double,
              cpu_slow_clock) = {.backend = BACKEND_CPU, .summary = "mutant: slows the clock", .origin = "tests", .run = run};
