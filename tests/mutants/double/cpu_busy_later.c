/* Mutant: a thread spins for ever once the outputs are there, as one that waits for the next call would. Must be rejected: it never
 * comes to rest. Met: pygpubench. */
#include "variant.h"

#include <pthread.h>
#include <stdlib.h>

static volatile int wanted = 1;

static void *spin(void *context) {
    while (wanted) continue;
    return context;
}

static Status run(const VariantArgs *args) {
    static pthread_t thread;
    static int started;
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];
    if (!started++ && pthread_create(&thread, NULL, spin, NULL) != 0) abort();
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_busy_later) = {
    .backend = BACKEND_CPU, .summary = "mutant: a thread never comes to rest", .origin = "tests", .run = run};
