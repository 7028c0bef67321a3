#include "emulator/fault.h"

#include "emulator/race.h"
#include "emulator/symbol.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
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

static void announce(const char *kind, EmulatorSite site, const void *pc, const char *message) {
    static char text[4096];
    char where[512] = "", kernel[512] = "", block[PLACE_MAX], thread[PLACE_MAX];
    if (site.file)
        fault_site_text(site, where, sizeof where);
    else if (pc)
        symbol_line(pc, where, sizeof where);
    if (engine.launch) symbol_function(engine.launch->kernel, kernel, sizeof kernel);
    size_t used = (size_t)snprintf(text, sizeof text, "rungs-emulator: %s: %s", kind, message);
    const Fiber *self = engine.current;
    if (self && used < sizeof text)
        used += (size_t)snprintf(text + used, sizeof text - used, "; kernel %s, block %s, thread %s", kernel,
                                 fault_thread_text(self->block->index, block), fault_thread_text(self->index, thread));
    else if (engine.launch && used < sizeof text)
        used += (size_t)snprintf(text + used, sizeof text - used, "; kernel %s", kernel);
    if (where[0] && used < sizeof text) used += (size_t)snprintf(text + used, sizeof text - used, ", at %s", where);
    const char *note = race_pending_note();
    if (note && used < sizeof text) used += (size_t)snprintf(text + used, sizeof text - used, "; before that, %s", note);
    if (used < sizeof text) snprintf(text + used, sizeof text - used, " (replay: %s)\n", settings_replay());
    say(text);
}

void fault_at(const char *kind, EmulatorSite site, const void *pc, const char *format, ...) {
    static char message[3072];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    announce(kind, site, pc, message);
    _exit(FAULT_EXIT_CODE);
}

void fault_announce(const char *kind, const void *pc, const char *format, ...) {
    static char message[3072];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    announce(kind, (EmulatorSite){0}, pc, message);
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
    static bool told[BLOCK_THREADS_MAX];
    memset(told, 0, sizeof told);
    char name[PLACE_MAX];
    size_t used = (size_t)snprintf(text, room, "in block %s ", fault_thread_text(block->index, name));
    int groups = 0;
    for (unsigned i = 0; i < block->threads && groups < GROUPS_MAX; i++) {
        if (told[i] || block->fibers[i].state == FIBER_DONE) continue;
        unsigned count = 0;
        for (unsigned j = i; j < block->threads; j++)
            if (block->fibers[j].state != FIBER_DONE && same_place(&block->fibers[i], &block->fibers[j])) told[j] = true, count++;
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
    fault_at("livelock", (EmulatorSite){0}, pc, "no thread ended and no barrier was passed for %g CPU seconds;%s %s",
             emulator_settings.watchdog_seconds, hint, text);
}
