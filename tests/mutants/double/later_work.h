/* later_work.h - what mutants share that return before a thread of theirs is done. */
#pragma once

#include "variant.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

typedef struct LaterWork {
    const double *x;
    double *y;
    size_t begin, end;
    long wait_nanoseconds;
} LaterWork;

static void *later_work(void *context) {
    const LaterWork work = *(LaterWork *)context;
    const struct timespec wait = {0, work.wait_nanoseconds};
    free(context);
    nanosleep(&wait, NULL);
    for (size_t i = work.begin; i < work.end; i++) work.y[i] = 2 * work.x[i];
    return NULL;
}

static inline void start_later(LaterWork work) {
    LaterWork *own = malloc(sizeof *own);
    pthread_t thread;
    if (!own) abort();
    *own = work;
    if (pthread_create(&thread, NULL, later_work, own) != 0) abort();
    pthread_detach(thread);
}
