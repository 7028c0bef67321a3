/* others.c - what a process's other threads do. */
#include "measure/others.h"

#include "base/clock.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const double REST_SECONDS = 1e-3, PATIENCE_SECONDS = 0.3; /* for pools that spin before they sleep */

/* What pthread_getcpuclockid() gives, for a thread known by its id only. */
static double cpu_seconds(int thread) {
    struct timespec time;
    const clockid_t clock = (clockid_t)(~(unsigned)thread << 3 | 6);
    return clock_gettime(clock, &time) == 0 ? (double)time.tv_sec + 1e-9 * (double)time.tv_nsec : -1;
}

int others_look(OtherThread threads[OTHERS_MAX]) {
    int count = 0;
    const int self = (int)gettid();
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *entry; tasks && (entry = readdir(tasks)) != NULL;) {
        const int id = atoi(entry->d_name);
        const double seconds = id > 0 && id != self ? cpu_seconds(id) : -1;
        if (seconds >= 0 && count < OTHERS_MAX) threads[count++] = (OtherThread){id, seconds};
    }
    if (tasks) closedir(tasks);
    return count;
}

/* ---- Before the calls of a library. */

static OtherThread before[OTHERS_MAX];
static int before_count;
static double worked;

/* What they have run since the last look. */
static double look_again(void) {
    static OtherThread now[OTHERS_MAX];
    const int count = others_look(now);
    double seconds = count == OTHERS_MAX ? INFINITY : 0; /* some may not have been seen */
    for (int i = 0, b; i < count; i++) {
        for (b = 0; b < before_count && before[b].id != now[i].id;) b++;
        seconds += now[i].seconds - (b < before_count ? before[b].seconds : 0);
    }
    for (int i = 0; i < count; i++) before[i] = now[i];
    before_count = count;
    return seconds;
}

void measure_watch(void) {
    const double begin = clock_seconds();
    while (look_again() > 0 && clock_seconds() < begin + PATIENCE_SECONDS)
        nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * REST_SECONDS)}, NULL);
}

Status measure_rested(void *unused) {
    (void)unused;
    worked = look_again();
    return STATUS_OK;
}

double measure_worked(void) {
    return worked;
}
