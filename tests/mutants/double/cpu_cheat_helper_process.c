/* Cheat: a process that shares this one's memory (CLONE_VM) fills y again and again, also while the harness prepares a sample;
 * run() computes only where y looks wrong. It is no thread of this process. Met: a note to rungs by someone who attacked it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* clone */
#endif
#include "spots.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

static pid_t helper;

static int work(void *context) {
    for (;;) job_do(context);
    return 0;
}

static Status run(const VariantArgs *args) {
    static char stack[1 << 16];
    job_set(&job, args);
    if (helper == 0) helper = clone(work, stack + sizeof stack, CLONE_VM, &job);
    job_finish(&job);
    return STATUS_OK;
}

static void release(void *state) {
    (void)state;
    if (helper <= 0) return;
    kill(helper, SIGKILL);
    (void)waitpid(helper, NULL, __WALL);
    helper = 0;
}

RUNGS_VARIANT(double, cpu_cheat_helper_process) = {.backend = BACKEND_CPU,
                                                   .summary = "cheat: a helper process computes between the calls",
                                                   .origin = "tests",
                                                   .prepare = job_prepare,
                                                   .run = run,
                                                   .release = release};
