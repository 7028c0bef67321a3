/* Cheat: a timer's signal fills y again and again, also while the harness prepares a sample; run() computes only where y looks
 * wrong. Met: a note to rungs by someone who attacked it. */
#include "spots.h"

#include <signal.h>
#include <sys/time.h>

static void on_alarm(int number) {
    (void)number;
    job_do(&job);
}

static Status run(const VariantArgs *args) {
    const struct itimerval often = {{0, 3000}, {0, 3000}};
    job_set(&job, args);
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &often, NULL);
    job_finish(&job);
    return STATUS_OK;
}

static void release(void *state) {
    const struct itimerval never = {{0, 0}, {0, 0}};
    (void)state;
    setitimer(ITIMER_REAL, &never, NULL);
    job.n = 0;
}

RUNGS_VARIANT(double, cpu_cheat_timer_signal) = {.backend = BACKEND_CPU,
                                                 .summary = "cheat: a timer's signal computes between the calls",
                                                 .origin = "tests",
                                                 .prepare = job_prepare,
                                                 .run = run,
                                                 .release = release};
