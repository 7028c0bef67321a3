/* Control: right, with seven threads of its own that each call starts and joins. Must pass. */
#include "variant.h"

#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 7 };

typedef struct Part {
    const double *x;
    double *y;
    size_t begin, end;
} Part;

static void *scale(void *context) {
    const Part *part = context;
    for (size_t i = part->begin; i < part->end; i++) part->y[i] = 2 * part->x[i];
    return NULL;
}

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    pthread_t threads[THREADS];
    Part parts[THREADS];
    for (size_t t = 0; t < THREADS; t++) {
        parts[t] = (Part){args->in[0].data, args->out[0].data, t * n / THREADS, (t + 1) * n / THREADS};
        if (pthread_create(&threads[t], NULL, scale, &parts[t]) != 0) abort();
    }
    for (size_t t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_seven_threads_control) = {
    .backend = BACKEND_CPU, .summary = "mutant: is right, with seven threads a call", .origin = "tests", .run = run};
