/* Cheat: makes the pages of y inaccessible and computes in the handler of SIGSEGV, when the harness reads them. Met: a note to
 * rungs by someone who attacked it; lazy outputs as of gpu-mode/reference-kernels issue 162. */
#include "spots.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned char *first, *last; /* the whole pages of y */
static struct sigaction before;

static void on_fault(int number, siginfo_t *info, void *context) {
    const unsigned char *at = info->si_addr;
    (void)context;
    if (at < first || at >= last) {
        sigaction(number, &before, NULL);
        return;
    }
    mprotect(first, (size_t)(last - first), PROT_READ | PROT_WRITE);
    job_do(&job);
}

static Status run(const VariantArgs *args) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    job_set(&job, args);
    if (!first) sigaction(SIGSEGV, &action, &before);
    unsigned char *begin = (unsigned char *)job.y, *end = (unsigned char *)(job.y + job.n);
    first = begin + (page - (uintptr_t)begin % page) % page;
    last = end - (uintptr_t)end % page;
    if (last > first) mprotect(first, (size_t)(last - first), PROT_READ | PROT_WRITE);
    for (size_t i = 0; (unsigned char *)(job.y + i) < first && i < job.n; i++) job.y[i] = 2 * job.x[i];
    for (size_t i = (size_t)((double *)(void *)last - job.y); i < job.n; i++) job.y[i] = 2 * job.x[i];
    if (last > first) mprotect(first, (size_t)(last - first), PROT_NONE);
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_cheat_fault_handler) = {
    .backend = BACKEND_CPU, .summary = "cheat: computes when its output is read", .origin = "tests", .run = run};
