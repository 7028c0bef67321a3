/* Cheat: a thread that sleeps until the parent's next command arrives fills y while the harness prepares the sample, then sleeps
 * again; run() computes only where y looks wrong. Met: a note to rungs by someone who attacked it. */
#include "spots.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile bool ended;
static pthread_t thread;
static int started;

/* The descriptor behind --commands. */
static int commands(void) {
    char text[4096];
    FILE *file = fopen("/proc/self/cmdline", "r");
    const size_t got = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[got] = '\0';
    for (const char *word = text; word < text + got; word += strlen(word) + 1)
        if (strcmp(word, "--commands") == 0) return atoi(word + strlen(word) + 1);
    return -1;
}

static void *work(void *context) {
    struct pollfd wait = {.fd = commands(), .events = POLLIN};
    while (!ended) {
        const double begin = job_clock();
        while (!ended && job_clock() < begin + 0.08) job_do(context);
        while (!ended && poll(&wait, 1, 1000) == 0) continue;
    }
    return NULL;
}

static Status run(const VariantArgs *args) {
    job_set(&job, args);
    if (!started++ && pthread_create(&thread, NULL, work, &job) != 0) abort();
    job_finish(&job);
    return STATUS_OK;
}

static void release(void *state) {
    (void)state;
    ended = true;
    if (started) pthread_join(thread, NULL);
    ended = false, started = 0;
}

RUNGS_VARIANT(double, cpu_cheat_helper_thread) = {.backend = BACKEND_CPU,
                                                  .summary = "cheat: a thread computes while a sample is prepared",
                                                  .origin = "tests",
                                                  .prepare = job_prepare,
                                                  .run = run,
                                                  .release = release};
