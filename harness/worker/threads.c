#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* gettid */
#endif
#include "worker/threads.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 1024 };
static const double UNACCOUNTED_SECONDS = 20e-6; /* CPU time of threads that have ended; starting a thread takes longer */

typedef struct Thread {
    int id;
    double seconds; /* of CPU time */
} Thread;

static struct Before {
    Thread threads[THREADS_MAX];
    int count;
    double process, own; /* seconds of the process, and of the calling thread */
} before;

static double cpu_seconds(clockid_t clock) {
    struct timespec time;
    return clock_gettime(clock, &time) == 0 ? (double)time.tv_sec + 1e-9 * (double)time.tv_nsec : -1;
}

/* What pthread_getcpuclockid() gives, for a thread known by its id only. */
static clockid_t clock_of(int thread) {
    return (clockid_t)(~(unsigned)thread << 3 | 6);
}

/* Lists all threads of the process but the calling one; returns how many. */
static int look_at_others(Thread threads[THREADS_MAX]) {
    int count = 0;
    const int self = (int)gettid();
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *entry; tasks && (entry = readdir(tasks)) != NULL;) {
        const int id = atoi(entry->d_name);
        const double seconds = id > 0 && id != self ? cpu_seconds(clock_of(id)) : -1;
        if (seconds >= 0 && count < THREADS_MAX) threads[count++] = (Thread){id, seconds};
    }
    if (tasks) closedir(tasks);
    return count;
}

void threads_begin(void) {
    before.count = look_at_others(before.threads);
    before.process = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
    before.own = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
}

static double seconds_before(int id) {
    for (int i = 0; i < before.count; i++)
        if (before.threads[i].id == id) return before.threads[i].seconds;
    return 0;
}

int threads_end(void) {
    static Thread now[THREADS_MAX];
    double left = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - before.process; /* read first: threads that spin go on */
    left -= cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - before.own;
    const int count = look_at_others(now);
    int used = 1;
    for (int i = 0; i < count; i++) {
        const double ran = now[i].seconds - seconds_before(now[i].id);
        left -= ran;
        used += ran > 0;
    }
    return left > UNACCOUNTED_SECONDS ? 0 : used;
}
