#include "emulator/signals.h"

#include "emulator/address.h"
#include "emulator/arena.h"
#include "emulator/fault.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

static struct sigaction previous_segv, previous_bus;
static timer_t timer;
static bool installed;
static uint64_t progress_seen;

static const void *interrupted_at(const void *context) {
#if defined(__x86_64__)
    /* One more: everywhere else code addresses are return addresses. */
    return (const void *)(((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] + 1);
#else
    (void)context;
    return NULL;
#endif
}

static void on_bad_access(int number, siginfo_t *info, void *context) {
    const void *pc = interrupted_at(context);
    char what[ADDRESS_TEXT_MAX];
    if (engine.current) {
        if (stack_guard_hit(info->si_addr))
            fault_at("stack overflow", (EmulatorSite){0}, pc, "a thread used more than its stack: recursion or a huge local array");
        fault_at("out of bounds", (EmulatorSite){0}, pc, "access to %s", address_describe(info->si_addr, what));
    }
    if (arena_contains(info->si_addr))
        fault_at("device memory touched by host code", (EmulatorSite){0}, pc, "access to %s outside a kernel; use cudaMemcpyAsync",
                 address_describe(info->si_addr, what));
    /* Not ours: as if we had never been here. */
    sigaction(number, number == SIGSEGV ? &previous_segv : &previous_bus, NULL);
}

static void on_watchdog(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)info;
    if (!engine.launch) return;
    const Fiber *self = engine.current;
    if (engine.progress == progress_seen) fault_hung(self && self->preempted_at ? self->preempted_at : interrupted_at(context));
    progress_seen = engine.progress;
}

void signals_install(void) {
    enum { ALTERNATE_BYTES = 256 * 1024 };
    if (installed) return;
    installed = true;
    stack_t alternate = {.ss_sp = malloc(ALTERNATE_BYTES), .ss_size = ALTERNATE_BYTES};
    if (!alternate.ss_sp || sigaltstack(&alternate, NULL) != 0) fault_internal("no stack for signals");
    struct sigaction action = {.sa_sigaction = on_bad_access, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGSEGV, &action, &previous_segv);
    sigaction(SIGBUS, &action, &previous_bus);
    action = (struct sigaction){.sa_sigaction = on_watchdog, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGRTMIN + 1, &action, NULL);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 1};
    if (timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) != 0) fault_internal("no timer for the watchdog");
}

static void set_timer(double seconds) {
    const struct timespec period = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    const struct itimerspec setting = {.it_interval = period, .it_value = period};
    timer_settime(timer, 0, &setting, NULL);
}

void watchdog_start(void) {
    progress_seen = engine.progress;
    set_timer(emulator_settings.watchdog_seconds);
}

void watchdog_stop(void) {
    set_timer(0);
}
