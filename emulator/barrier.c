/* __syncthreads() and its reductions. A barrier is complete when every thread that has not ended is there (PTX: a thread that exits
 * no longer holds up a barrier). All must have come to it at the same place of the source: anything else is a barrier in divergent
 * code, which CUDA leaves undefined even where the hardware happens to count right. */
#include "emulator/fault.h"
#include "emulator/fiber.h"
#include "emulator/race.h"

#include <string.h>

static bool same_site(EmulatorSite a, EmulatorSite b) {
    return a.line == b.line && (a.file == b.file || strcmp(a.file, b.file) == 0);
}

static void check_convergence(const Block *block) {
    const Fiber *first = NULL;
    for (unsigned i = 0; i < block->threads; i++) {
        const Fiber *fiber = &block->fibers[i];
        if (fiber->state != FIBER_AT_BARRIER) continue;
        if (!first) first = fiber;
        if (same_site(first->site, fiber->site)) continue;
        char a[PLACE_MAX], b[PLACE_MAX], place[512];
        fault_at("barrier in divergent code", fiber->site, NULL,
                 "thread %s waits at %s while thread %s of the same block waits at another barrier",
                 fault_thread_text(first->index, a), fault_site_text(first->site, place, sizeof place),
                 fault_thread_text(fiber->index, b));
    }
}

static int reduce(const Block *block) {
    int count = 0, all = 1, any = 0;
    EmulatorBarrier kind = BARRIER_PLAIN;
    for (unsigned i = 0; i < block->threads; i++) {
        const Fiber *fiber = &block->fibers[i];
        if (fiber->state != FIBER_AT_BARRIER) continue;
        kind = fiber->barrier;
        count += fiber->predicate != 0;
        all &= fiber->predicate != 0;
        any |= fiber->predicate != 0;
    }
    return kind == BARRIER_COUNT ? count : kind == BARRIER_AND ? all : any;
}

static void complete(Block *block) {
    check_convergence(block);
    const int result = reduce(block);
    race_block_barrier(block);
    for (unsigned i = 0; i < block->threads; i++) {
        Fiber *fiber = &block->fibers[i];
        if (fiber->state != FIBER_AT_BARRIER) continue;
        fiber->result = (uint64_t)result;
        schedule_wake(fiber);
    }
    block->at_barrier = 0;
    schedule_restart_order(block);
    engine.progress++;
}

static void check(Fiber *fiber) {
    Block *block = fiber->block;
    if (block->at_barrier > 0 && block->at_barrier == block->live) complete(block);
}

int emulator_barrier(EmulatorBarrier kind, int predicate, EmulatorSite site) {
    Fiber *self = engine.current;
    self->barrier = kind;
    self->predicate = predicate;
    self->block->at_barrier++;
    schedule_wait(FIBER_AT_BARRIER, site, check);
    return (int)self->result;
}

void barrier_thread_ended(Fiber *fiber) {
    check(fiber);
}
