#include "base/clock.h"
#include "base/process.h"
#include "worker/worker.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = OTHERS_MAX };

/* ---- How many ran. */

static const double UNACCOUNTED_SECONDS = 20e-6; /* CPU time of threads that have ended; starting a thread takes longer */

static struct Before {
    OtherThread threads[THREADS_MAX];
    int count;
    double process, own; /* seconds of the process, and of the calling thread */
} before;

static double cpu_seconds(clockid_t clock) {
    struct timespec time;
    return clock_gettime(clock, &time) == 0 ? (double)time.tv_sec + 1e-9 * (double)time.tv_nsec : -1;
}

void threads_begin(void) {
    before.count = others_look(before.threads);
    before.process = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
    before.own = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
}

int threads_end(void) {
    static OtherThread now[THREADS_MAX];
    double left = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - before.process; /* read first: threads that spin go on */
    left -= cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - before.own;
    const int count = others_look(now);
    int used = 1;
    for (int i = 0; i < count; i++) {
        const double ran = other_ran(now[i], before.threads, before.count);
        left -= ran;
        used += ran > 0;
    }
    return left > UNACCOUNTED_SECONDS ? 0 : used;
}

/* ---- Whose are they? */

static int team[THREADS_MAX], team_count;

void threads_know_team(void) {
    static OtherThread threads[THREADS_MAX];
    team_count = 0;
    if (others_look(threads) == 0) return;
#pragma omp parallel
#pragma omp critical
    if (team_count < THREADS_MAX) team[team_count++] = (int)gettid();
}

bool threads_beside_team(void) {
    static OtherThread threads[THREADS_MAX];
    const int count = others_look(threads);
    for (int i = 0, t; i < count; i++) {
        for (t = 0; t < team_count && team[t] != threads[i].id;) t++;
        if (t == team_count) return true;
    }
    return false;
}

/* ---- Do they rest? */

static const double SPIN_SECONDS = 0.5;  /* of a thread's own time: longer than any pool spins that is going to sleep */
static const double WAIT_SECONDS = 30;   /* for threads of a machine that is busy otherwise */
static const double STEP_SECONDS = 1e-3; /* between two looks */

typedef struct Thread {
    int id;
    int seen;                 /* the last round that met it */
    bool rests;               /* was seen asleep, without having run since the look before */
    double ran, ran_at_first; /* seconds */
} Thread;

typedef struct Crowd {
    Thread threads[THREADS_MAX];
    int count, round;
    bool quiet; /* all of them were at rest at one moment before the last round */
} Crowd;

/* What it has run so far, in seconds, and whether it sleeps. False: it has ended. */
static bool look(int id, double *ran, bool *sleeps) {
    *sleeps = other_sleeps(id); /* first: if it has not run then, it slept at that moment */
    *ran = other_seconds(id);
    return *ran >= 0;
}

static Thread *find(Crowd *crowd, int id, double ran) {
    for (int i = 0; i < crowd->count; i++)
        if (crowd->threads[i].id == id) return &crowd->threads[i];
    if (crowd->count == THREADS_MAX) return NULL;
    crowd->threads[crowd->count] = (Thread){.id = id, .ran = -1, .ran_at_first = ran};
    return &crowd->threads[crowd->count++];
}

/* Looks at every other thread once: how many there are, how many have run since the last round or have ended since, and whether one
 * has run again, be it to its end, after all rested. While one runs, others may wait for it: those that OpenMP dismisses, because
 * this call wanted a smaller team than the last, wait for each other's locks on their way out. A round is no picture of one moment:
 * a thread seen waiting may be woken by one that ends before its own turn comes. But if none has run or ended since the last round,
 * all rested between the two. */
static Status look_round(Crowd *crowd, int *others, int *busy) {
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks) return STATUS_OK; /* nothing is known */
    const int self = (int)gettid();
    bool woke = false;
    crowd->round++;
    for (const struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
        const int id = atoi(entry->d_name);
        double ran;
        bool sleeps;
        if (id == 0 || id == self || !look(id, &ran, &sleeps)) continue;
        Thread *thread = find(crowd, id, ran);
        if (!thread) continue;
        ++*others;
        thread->seen = crowd->round;
        woke = woke || (crowd->quiet && thread->rests && thread->ran != ran);
        thread->rests = sleeps && thread->ran == ran;
        thread->ran = ran;
        *busy += !thread->rests;
    }
    closedir(tasks);
    for (int i = 0; i < crowd->count; i++) { /* those that have ended since the last round */
        Thread *thread = &crowd->threads[i];
        if (thread->seen != crowd->round - 1) continue;
        woke = woke || crowd->quiet;
        thread->rests = false;
        ++*busy;
    }
    crowd->quiet = *busy == 0;
    return woke ? status_fail(STATUS_CHECK, "a thread goes on working after run() returned: it slept and then ran again")
                : STATUS_OK;
}

static double longest_run(const Crowd *crowd) {
    double longest = 0;
    for (int i = 0; i < crowd->count; i++) {
        const Thread *thread = &crowd->threads[i];
        if (thread->seen == crowd->round) longest = fmax(longest, thread->ran - thread->ran_at_first);
    }
    return longest;
}

static Crowd crowd;

Status threads_rest(double patience, bool *alone) {
    const char *policy = getenv("OMP_WAIT_POLICY");
    const bool may_spin = policy && strcasecmp(policy, "active") == 0;
    const double begin = clock_seconds();
    crowd.count = 0, crowd.round = 0, crowd.quiet = false;
    for (double patient = 0;; patient += STEP_SECONDS) { /* counts steps, which take longer where the machine is busy */
        int others = 0, busy = 0;
        const Status status = look_round(&crowd, &others, &busy);
        const double waited = clock_seconds() - begin;
        if (status != STATUS_OK) return status;
        *alone = others == 0;
        if (others == 0 || (patient >= patience && (busy == 0 || may_spin))) return STATUS_OK;
        if (longest_run(&crowd) > SPIN_SECONDS || (busy > 0 && waited > WAIT_SECONDS))
            return status_fail(STATUS_CHECK, "%d thread%s still busy %.1f s after run() returned", busy,
                               busy == 1 ? " is" : "s are", waited);
        nanosleep(&(struct timespec){0, (long)(1e9 * STEP_SECONDS)}, NULL);
    }
}

Status threads_rested(void) {
    for (int i = 0; i < crowd.count && crowd.quiet; i++) {
        const Thread *thread = &crowd.threads[i];
        double ran;
        bool sleeps;
        if (thread->seen == crowd.round && (!look(thread->id, &ran, &sleeps) || !sleeps || ran != thread->ran))
            return status_fail(STATUS_CHECK, "a thread works between two calls: it slept and then ran, with nothing to do");
    }
    return STATUS_OK;
}
