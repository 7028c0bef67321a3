/* Control: right. Each call has a thread of its own that lives on release a block, of one of eight sizes in turn; malloc keeps
 * seven of each for that thread and counts them as in use. That is no leak, and must pass. */
#include "variant.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

enum { SIZES = 8, SMALLEST = 600, STEP = 48 };

static sem_t wanted, released;
static void *block;
static pthread_t helper;

static void *release_blocks(void *context) {
    (void)context;
    for (;;) {
        while (sem_wait(&wanted) != 0) continue;
        free(block);
        sem_post(&released);
    }
    return NULL;
}

static Status run(const VariantArgs *args) {
    static size_t calls;
    if (calls++ == 0) {
        sem_init(&wanted, 0, 0);
        sem_init(&released, 0, 0);
        if (pthread_create(&helper, NULL, release_blocks, NULL) != 0) return status_fail(STATUS_MEMORY, "no thread");
    }
    block = malloc(SMALLEST + calls % SIZES * STEP);
    sem_post(&wanted);
    while (sem_wait(&released) != 0) continue;
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    for (size_t i = 0; i < array_count(&args->in[0]); i++) y[i] = 2 * x[i];
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_frees_elsewhere_control) = {
    .backend = BACKEND_CPU, .summary = "control: blocks are released by another thread", .origin = "tests", .run = run};
