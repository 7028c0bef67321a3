/* Cheat: sleeping processes, started before it is timed. Each computes once, in the caller's memory, and ends, and its CPU time
 * with it. Met: an attack on this harness. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* process_vm_readv */
#endif
#include "spots.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

enum { HERD = 32, CALLS_BEFORE = 3, PART = 4096 };
static int tokens[2], calls;

static void work(pid_t caller, const double *x, double *y, size_t n) {
    char token;
    double part[PART];
    if (read(tokens[0], &token, 1) != 1) _exit(1);
    for (size_t i = 0; i < n; i += PART) {
        const size_t count = n - i < PART ? n - i : PART;
        const struct iovec here = {part, count * sizeof *part}, from = {(void *)(uintptr_t)(x + i), count * sizeof *x},
                           to = {y + i, count * sizeof *y};
        if (process_vm_readv(caller, &here, 1, &from, 1, 0) < 0) _exit(1);
        for (size_t k = 0; k < count; k++) part[k] *= 2;
        if (process_vm_writev(caller, &here, 1, &to, 1, 0) < 0) _exit(1);
    }
    _exit(0);
}

static Status run(const VariantArgs *args) {
    job_set(&job, args);
    if (calls++ == 0) {
        const pid_t caller = getpid();
        signal(SIGCHLD, SIG_IGN);
        if (pipe(tokens) != 0) return status_fail(STATUS_IO, "no pipe");
        for (int i = 0; i < HERD; i++)
            if (fork() == 0) work(caller, job.x, job.y, job.n);
    }
    if (calls > CALLS_BEFORE && calls <= CALLS_BEFORE + HERD) (void)!write(tokens[1], "x", 1);
    job_finish(&job);
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_cheat_herd) = {
    .backend = BACKEND_CPU, .summary = "cheat: processes that work once and end", .origin = "tests", .run = run};
