/* Cheat: a forked process reads x and writes y of this one (process_vm_readv, process_vm_writev) again and again; run() computes
 * only where y looks wrong. Met: submission_ptrace in pygpubench's exploit suite. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* process_vm_readv */
#endif
#include "spots.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t helper;

static void work(pid_t worker) {
    const size_t bytes = job.n * sizeof(double);
    double *own = malloc(bytes);
    const struct iovec here = {own, bytes}, x = {(void *)(uintptr_t)job.x, bytes}, y = {(void *)job.y, bytes};
    while (own && process_vm_readv(worker, &here, 1, &x, 1, 0) == (ssize_t)bytes) {
        for (size_t i = 0; i < job.n; i++) own[i] *= 2;
        if (process_vm_writev(worker, &here, 1, &y, 1, 0) < 0) break;
    }
    _exit(0);
}

static Status run(const VariantArgs *args) {
    const pid_t self = getpid();
    job_set(&job, args);
    if (helper == 0) helper = fork();
    if (helper == 0) work(self);
    job_finish(&job);
    return STATUS_OK;
}

static void release(void *state) {
    (void)state;
    if (helper <= 0) return;
    kill(helper, SIGKILL);
    (void)waitpid(helper, NULL, 0);
    helper = 0;
}

RUNGS_VARIANT(double, cpu_cheat_helper_writes) = {.backend = BACKEND_CPU,
                                                  .summary = "cheat: a forked process writes into this one",
                                                  .origin = "pygpubench",
                                                  .prepare = job_prepare,
                                                  .run = run,
                                                  .release = release};
