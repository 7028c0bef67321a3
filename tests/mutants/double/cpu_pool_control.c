/* Control: right, with a pool of three threads that sleep between calls and stay to the end of the process. Must pass: they are at
 * rest once run() has returned. */
#include "variant.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

enum { THREADS = 3 };

typedef struct Share {
    const VariantArgs *args;
    size_t number;
    sem_t wanted, done;
} Share;

static Share shares[THREADS];

static void scale(const VariantArgs *args, size_t number) {
    const size_t n = array_count(&args->in[0]), end = (number + 1) * n / (THREADS + 1);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    for (size_t i = number * n / (THREADS + 1); i < end; i++) y[i] = 2 * x[i];
}

static void *work(void *context) {
    Share *share = context;
    for (;;) {
        while (sem_wait(&share->wanted) != 0) continue;
        scale(share->args, share->number);
        sem_post(&share->done);
    }
    return NULL;
}

static void start(size_t number) {
    pthread_t thread;
    Share *share = &shares[number];
    share->number = number;
    if (sem_init(&share->wanted, 0, 0) != 0 || sem_init(&share->done, 0, 0) != 0) abort();
    if (pthread_create(&thread, NULL, work, share) != 0) abort();
}

static Status run(const VariantArgs *args) {
    static bool started;
    for (size_t t = 0; t < THREADS && !started; t++) start(t);
    started = true;
    for (size_t t = 0; t < THREADS; t++) shares[t].args = args, sem_post(&shares[t].wanted);
    scale(args, THREADS);
    for (size_t t = 0; t < THREADS; t++)
        while (sem_wait(&shares[t].done) != 0) continue;
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_pool_control) = {
    .backend = BACKEND_CPU, .summary = "mutant: is right, with a pool that sleeps", .origin = "tests", .run = run};
