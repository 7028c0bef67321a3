/* Cheat: traps the system call by which the harness reads outputs, and computes in the signal's handler. Met:
 * submission_seccomp_trap in pygpubench's exploit suite. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* REG_RSI */
#endif
#include "spots.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

static void on_trap(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    job_do(&job);
#if defined(__x86_64__)
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const struct iovec *to = (const void *)registers[REG_RSI], *from = (const void *)registers[REG_R10];
    memcpy(to->iov_base, from->iov_base, to->iov_len);
    registers[REG_RAX] = (greg_t)to->iov_len;
#else
    (void)context;
#endif
}

static Status begin(void) {
    struct sock_filter steps[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
                                  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog filter = {4, steps};
    const struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    sigaction(SIGSYS, &action, NULL);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) return status_fail(STATUS_DEVICE, "no filter");
    return STATUS_OK;
}

static Status run(const VariantArgs *args) {
    if (job.n == 0) TRY(begin());
    job_set(&job, args);
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_cheat_seccomp_trap) = {
    .backend = BACKEND_CPU, .summary = "cheat: computes in a trap of a system call", .origin = "pygpubench", .run = run};
