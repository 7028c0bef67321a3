#include "emulator/fault.h"
#include "emulator/memory.h"
#include "emulator/program.h"
#include "emulator/race.h"
#include "emulator/values.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

const char *fault_thread_text(const unsigned index[3], char text[PLACE_MAX]) {
    snprintf(text, PLACE_MAX, "(%u,%u,%u)", index[0], index[1], index[2]);
    return text;
}

const char *fault_site_text(EmulatorSite site, char *text, size_t size) {
    snprintf(text, size, "%s:%d", site.file, site.line);
    return text;
}

/* One write, so that nothing else that goes to stderr comes between. */
static void say(const char *text) {
    const size_t length = strlen(text);
    if (write(STDERR_FILENO, text, length) != (ssize_t)length) _exit(FAULT_EXIT_CODE);
}

static void announce(const char *kind, const char *where, const char *message) {
    static char text[4096];
    char kernel[512] = "", block[PLACE_MAX], thread[PLACE_MAX];
    if (engine.launch && engine.launch->name)
        snprintf(kernel, sizeof kernel, "%s", engine.launch->name);
    else if (engine.launch)
        symbol_function(engine.launch->kernel, kernel, sizeof kernel);
    size_t used = (size_t)snprintf(text, sizeof text, "rungs-emulator: %s: %s", kind, message);
    const Fiber *self = engine.current;
    if (self && used < sizeof text)
        used += (size_t)snprintf(text + used, sizeof text - used, "; kernel %s, block %s, thread %s", kernel,
                                 fault_thread_text(self->block->index, block), fault_thread_text(self->index, thread));
    else if (engine.launch && used < sizeof text)
        used += (size_t)snprintf(text + used, sizeof text - used, "; kernel %s", kernel);
    if (where && used < sizeof text) used += (size_t)snprintf(text + used, sizeof text - used, ", at %s", where);
    if (used < sizeof text) snprintf(text + used, sizeof text - used, " (replay: %s)\n", settings_replay());
    program_found(kind);
    say(text);
}

/* The place of a site or else of a code address; NULL if there is neither. */
static const char *place_of(EmulatorSite site, const void *pc, char *text, size_t size) {
    if (site.file) return fault_site_text(site, text, size);
    return pc ? symbol_line(pc, text, size) : NULL;
}

static char message[3072];

/* The message: this, and what may explain the fault. */
static const char *formatted(const char *format, va_list arguments) {
    const int length = vsnprintf(message, sizeof message, format, arguments);
    const char *note = race_pending_note();
    if (note && length >= 0 && (size_t)length < sizeof message)
        snprintf(message + length, sizeof message - (size_t)length, "; before that, %s", note);
    return message;
}

void fault_at(const char *kind, EmulatorSite site, const void *pc, const char *format, ...) {
    char where[512];
    va_list arguments;
    va_start(arguments, format);
    announce(kind, place_of(site, pc, where, sizeof where), formatted(format, arguments));
    va_end(arguments);
    _exit(FAULT_EXIT_CODE);
}

static int faults;

void fault_more(const char *kind, const char *where, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    announce(kind, where, message);
    if (++faults == FAULTS_MAX) fault_end(0);
}

int fault_count(void) {
    return faults;
}

void fault_end(int schedules) {
    char text[128];
    if (faults == 0 || (program_runs() && faults < FAULTS_MAX)) return;
    if (schedules > 1) {
        snprintf(text, sizeof text, "rungs-emulator: %d schedules were tried; the last %lld found nothing new\n", schedules,
                 emulator_settings.schedules);
        say(text);
    }
    _exit(FAULT_EXIT_CODE);
}

void fault_announce(const char *kind, const void *pc, const char *format, ...) {
    char where[512];
    va_list arguments;
    va_start(arguments, format);
    announce(kind, place_of((EmulatorSite){0}, pc, where, sizeof where), formatted(format, arguments));
    va_end(arguments);
}

void fault_internal(const char *what) {
    fault_at("defect of the emulator itself", (EmulatorSite){0}, NULL, "%s", what);
}

void emulator_trap(const char *what, EmulatorSite site) {
    fault_at("trap", site, NULL, "%s", what);
}

/* Where everybody is: "in block (0,0,0) 96 threads from (0,0,0): waiting at the block's barrier, k.cu:10; ..." */

static const char *doing(const Fiber *fiber) {
    if (fiber->state == FIBER_AT_BARRIER) return "waiting at the block's barrier,";
    if (fiber->state == FIBER_AT_WARP) return "waiting in a warp operation,";
    if (fiber->preempted_at) return "running at";
    if (fiber->site.file) return "running, last seen at";
    return fiber->stack.bottom ? "running" : "not started";
}

static bool same_place(const Fiber *a, const Fiber *b) {
    return a->state == b->state && a->preempted_at == b->preempted_at && a->site.line == b->site.line &&
           (a->site.file == b->site.file || (a->site.file && b->site.file && strcmp(a->site.file, b->site.file) == 0)) &&
           (a->state != FIBER_AT_WARP || a->call.mask == b->call.mask);
}

static size_t describe_group(const Fiber *first, unsigned count, char *text, size_t room) {
    char place[512] = "", thread[PLACE_MAX], mask[32] = "";
    if (first->preempted_at && first->state == FIBER_READY)
        symbol_line(first->preempted_at, place, sizeof place);
    else if (first->site.file)
        fault_site_text(first->site, place, sizeof place);
    if (first->state == FIBER_AT_WARP) snprintf(mask, sizeof mask, ", mask 0x%08x", first->call.mask);
    const int length = snprintf(text, room, "%u thread%s from %s: %s %s%s", count, count == 1 ? "" : "s",
                                fault_thread_text(first->index, thread), doing(first), place, mask);
    return length < 0 ? 0 : (size_t)length < room ? (size_t)length : room - 1;
}

static void describe_block(const Block *block, char *text, size_t room) {
    enum { GROUPS_MAX = 6 };
    static bool listed[BLOCK_THREADS_MAX];
    memset(listed, 0, sizeof listed);
    char name[PLACE_MAX];
    size_t used = (size_t)snprintf(text, room, "in block %s ", fault_thread_text(block->index, name));
    int groups = 0;
    for (unsigned i = 0; i < block->threads && groups < GROUPS_MAX; i++) {
        if (listed[i] || block->fibers[i].state == FIBER_DONE) continue;
        unsigned count = 0;
        for (unsigned j = i; j < block->threads; j++)
            if (block->fibers[j].state != FIBER_DONE && same_place(&block->fibers[i], &block->fibers[j])) listed[j] = true, count++;
        if (groups++ > 0 && used + 2 < room) used += (size_t)snprintf(text + used, room - used, "; ");
        used += describe_group(&block->fibers[i], count, text + used, room - used);
    }
    if (groups == GROUPS_MAX && used < room) used += (size_t)snprintf(text + used, room - used, "; and others elsewhere");
    if (block->live < block->threads && used < room)
        snprintf(text + used, room - used, "; %u have ended", block->threads - block->live);
}

void fault_deadlock(const Block *block) {
    static char text[2048];
    describe_block(block, text, sizeof text);
    fault_at("deadlock", (EmulatorSite){0}, NULL, "no thread of the block can go on: %s", text);
}

void fault_hung(const void *pc) {
    static char text[2048], hint[256] = "";
    const Block *block = engine.current_block;
    if (block && block->resident) describe_block(block, text, sizeof text);
    if (engine.blocks_started < engine.block_count)
        snprintf(hint, sizeof hint,
                 " %llu of %llu blocks have not started: blocks start in any order, so a block must not wait for another by its "
                 "blockIdx (take a ticket with atomicAdd instead);",
                 (unsigned long long)(engine.block_count - engine.blocks_started), (unsigned long long)engine.block_count);
    fault_at("livelock", (EmulatorSite){0}, pc, "no thread ended and no barrier was passed for %lld CPU seconds;%s %s",
             emulator_settings.watchdog_seconds, hint, text);
}

void describe_within(const unsigned char *at, const unsigned char *begin, size_t bytes, const char *what, char *text, size_t size) {
    const unsigned char *end = begin + bytes;
    if (at < begin)
        snprintf(text, size, "%zu bytes before %s (%zu bytes)", (size_t)(begin - at), what, bytes);
    else if (at >= end)
        snprintf(text, size, "%zu bytes past the end of %s (%zu bytes)", (size_t)(at - end), what, bytes);
    else
        snprintf(text, size, "byte %zu of %s (%zu bytes)", (size_t)(at - begin), what, bytes);
}

/* To AddressSanitizer a variable's symbol covers its red zone too. */
static size_t own_bytes(const unsigned char *begin, size_t bytes) {
    const unsigned char *red_zone = sanitizer_first_forbidden(begin, bytes);
    return red_zone ? (size_t)(red_zone - begin) : bytes;
}

/* The variable that holds the address, or else the nearest one below. */
static bool describe_static(const unsigned char *address, char *text) {
    enum { NEAR = 4096 };
    char name[384], what[420];
    size_t offset, bytes, distance = 0;
    if (!shared_is_static(address)) return false;
    while (distance < NEAR && !symbol_variable(address - distance, name, sizeof name, &offset, &bytes)) distance++;
    if (distance == NEAR) {
        snprintf(text, ADDRESS_TEXT_MAX, "an address between __shared__ variables");
        return true;
    }
    offset += distance;
    bytes = own_bytes(address - offset, bytes);
    snprintf(what, sizeof what, "the __shared__ variable %s", name);
    describe_within(address, address - offset, bytes, what, text, ADDRESS_TEXT_MAX);
    return true;
}

static bool describe_dynamic(const unsigned char *address, char *text) {
    const Block *block = shared_dynamic_owner(address);
    if (!block) return false;
    const size_t bytes = engine.launch ? engine.launch->shared_bytes : 0;
    if (!block->shared || !engine.current || block != engine.current->block) {
        snprintf(text, ADDRESS_TEXT_MAX, "the dynamic shared memory of another block");
        return true;
    }
    describe_within(address, block->shared, bytes, "the block's dynamic shared memory", text, ADDRESS_TEXT_MAX);
    return true;
}

/* A __device__ variable, or another of the file that the kernel is in. */
static bool describe_variable(const unsigned char *address, char *text) {
    char name[384], what[420];
    size_t offset, bytes;
    if (!engine.launch || !symbol_variable(address, name, sizeof name, &offset, &bytes)) return false;
    snprintf(what, sizeof what, "the variable %s", name);
    describe_within(address, address - offset, bytes, what, text, ADDRESS_TEXT_MAX);
    return true;
}

const char *address_describe(const void *address, char text[ADDRESS_TEXT_MAX]) {
    if (describe_dynamic(address, text) || describe_static(address, text) || arena_describe(address, text, ADDRESS_TEXT_MAX) ||
        describe_variable(address, text))
        return text;
    snprintf(text, ADDRESS_TEXT_MAX, "address %p, which is not device memory", address);
    return text;
}

/* Places: code is named by its distance from the first kernel, which lies in the same file, sites by their index in a small table;
 * the top bit tells which.
 */

enum { SITES_MAX = 1024 };
static EmulatorSite sites[SITES_MAX];
static uint32_t site_count;

uintptr_t place_origin;

uint32_t place_of_site(EmulatorSite site) {
    for (uint32_t i = 0; i < site_count; i++)
        if (sites[i].file == site.file && sites[i].line == site.line) return PLACE_IS_SITE | i;
    if (site_count < SITES_MAX) sites[site_count++] = site;
    return PLACE_IS_SITE | (site_count - 1);
}

const char *place_text(uint32_t place, char *text, size_t size) {
    if (place & PLACE_IS_SITE) return fault_site_text(sites[place & ~PLACE_IS_SITE], text, size);
    return symbol_line((const void *)(place_origin + place - PLACE_MIDDLE), text, size);
}

static struct sigaction previous_segv, previous_bus;
static timer_t watchdog;
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
    const struct sigaction *previous = number == SIGSEGV ? &previous_segv : &previous_bus;
    if (program_runs() && previous->sa_handler == SIG_DFL)
        fault_at("crash", (EmulatorSite){0}, pc, "host code touches address %p (%s)", info->si_addr, strsignal(number));
    /* Not ours: as if we had never been here. */
    sigaction(number, previous, NULL);
}

/* Of a program. A division by zero is the likeliest cause of SIGFPE. */
static void on_crash(int number, siginfo_t *info, void *context) {
    (void)info;
    const void *pc = number == SIGABRT ? NULL : interrupted_at(context);
    if (engine.current)
        fault_at("undefined behaviour", (EmulatorSite){0}, pc, "%s",
                 number == SIGFPE ? "an integer is divided by zero, or the quotient is too large" : strsignal(number));
    if (number == SIGABRT && values_enabled()) {
        say("rungs-emulator: host code aborts; this way of watching has no C++ exceptions: the others tell whether it is one\n");
        _exit(2);
    }
    fault_at("crash", (EmulatorSite){0}, pc, "host code: %s", strsignal(number));
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
    action.sa_sigaction = on_crash;
    static const int CRASHES[] = {SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; program_runs() && i < sizeof CRASHES / sizeof *CRASHES; i++) sigaction(CRASHES[i], &action, NULL);
    action = (struct sigaction){.sa_sigaction = on_watchdog, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGRTMIN + 1, &action, NULL);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 1};
    if (timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &watchdog) != 0) fault_internal("no timer for the watchdog");
}

static void set_timer(time_t seconds) {
    const struct timespec period = {.tv_sec = seconds};
    const struct itimerspec setting = {.it_interval = period, .it_value = period};
    timer_settime(watchdog, 0, &setting, NULL);
}

void watchdog_start(void) {
    progress_seen = engine.progress;
    set_timer(emulator_settings.watchdog_seconds);
}

void watchdog_stop(void) {
    set_timer(0);
}
