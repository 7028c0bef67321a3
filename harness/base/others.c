/* others.c - what a process's other threads do. */
#include "base/others.h"

#include <dirent.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

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

double other_ran(OtherThread now, const OtherThread *before, int count) {
    for (int i = 0; i < count; i++)
        if (before[i].id == now.id) return now.seconds - before[i].seconds;
    return now.seconds;
}
