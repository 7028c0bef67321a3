/* Who runs next. Sequential order lets a thread run until it waits; reverse order the same from the last thread; random order
 * preempts at random places. Every order preempts sooner or later, so that a thread that spins on another's flag sees it raised. */
#include "base/launches.h"
#include "base/rng.h"
#include "emulator/fault.h"
#include "emulator/memory.h"
#include "emulator/program.h"
#include "emulator/race.h"
#include "emulator/values.h"

#include <stdlib.h>
#include <string.h>

Engine engine;
int emulator_countdown = COUNTDOWN_NEVER;

/* CUDA's built-in variables. The header declares them const: for the thread that reads them they are. */
struct BuiltIn {
    unsigned x, y, z;
} threadIdx, blockIdx, blockDim, gridDim;

/* A launch that was preempted often goes on with fewer preemptions: FREQUENT_DRAWS are those of about 300,000 short threads. */
enum { RANDOM_STEPS = 24, RARE_STEPS = 1024, FREQUENT_DRAWS = 1 << 20, RANDOM_TURNS = 64, ORDERED_STEPS = 4096, PAUSE_STEPS = 64 };

/* What the next engine_random() returns. */
static inline uint32_t random_ahead(uint32_t below) {
    const uint64_t bits = rng_at((uint64_t)emulator_settings.seed, engine.random_counter) >> 32;
    return (uint32_t)((bits * below) >> 32);
}

static inline uint32_t random_below(uint32_t below) {
    const uint32_t drawn = random_ahead(below);
    engine.random_counter++;
    return drawn;
}

uint32_t engine_random(uint32_t below) {
    return random_below(below);
}

static void restart_countdown(void) {
    const bool frequent = engine.random_counter - engine.random_at_launch < FREQUENT_DRAWS;
    emulator_countdown =
        emulator_settings.order != ORDER_RANDOM ? ORDERED_STEPS : 1 + (int)random_below(frequent ? RANDOM_STEPS : RARE_STEPS);
}

/* A block's life in its slot: fresh fibers in a fresh order, fresh shared memory. */

static void set_order(Block *block) {
    const unsigned n = block->threads;
    for (unsigned i = 0; i < n; i++)
        block->thread_of_rank[i] = (unsigned short)(emulator_settings.order == ORDER_REVERSE ? n - 1 - i : i);
    if (emulator_settings.order != ORDER_RANDOM) return;
    for (unsigned i = n; i > 1; i--) {
        const unsigned j = engine_random(i);
        const unsigned short swapped = block->thread_of_rank[i - 1];
        block->thread_of_rank[i - 1] = block->thread_of_rank[j];
        block->thread_of_rank[j] = swapped;
    }
}

static void block_start(Block *block, int slot, uint64_t linear) {
    const EmulatorLaunch *launch = engine.launch;
    Fiber *fibers = block->fibers ? block->fibers : aligned_alloc(_Alignof(Fiber), BLOCK_THREADS_MAX * sizeof *fibers);
    if (!fibers) fault_internal("no memory for a block's threads");
    unsigned char *statics = block->statics;
    *block = (Block){.resident = true,
                     .slot = slot,
                     .linear = linear,
                     .threads = engine.block_threads,
                     .live = engine.block_threads,
                     .fibers = fibers,
                     .statics = statics};
    block->index[0] = (unsigned)(linear % launch->grid[0]);
    block->index[1] = (unsigned)(linear / launch->grid[0] % launch->grid[1]);
    block->index[2] = (unsigned)(linear / launch->grid[0] / launch->grid[1]);
    set_order(block);
    for (unsigned rank = 0; rank < block->threads; rank++) {
        const unsigned thread = block->thread_of_rank[rank];
        Fiber *fiber = &block->fibers[thread];
        *fiber = (Fiber){.block = block, .thread = (uint16_t)thread, .rank = (uint16_t)rank, .state = FIBER_READY};
        fiber->index[0] = thread % launch->block[0];
        fiber->index[1] = thread / launch->block[0] % launch->block[1];
        fiber->index[2] = thread / launch->block[0] / launch->block[1];
        block->ready[rank / 64] |= UINT64_C(1) << (rank % 64);
        block->live_lanes[thread / WARP_LANES] |= 1u << thread % WARP_LANES;
    }
    block->ready_count = block->threads;
    shared_block_start(block);
    race_block_start(block);
    values_block_start(block);
}

static void block_finish(Block *block) {
    race_block_finish(block);
    copies_block_ended(block);
    shared_block_finish(block);
    block->resident = false;
    if (engine.current_block == block) engine.current_block = NULL;
}

static void mark(Fiber *fiber, bool ready) {
    Block *block = fiber->block;
    const uint64_t bit = UINT64_C(1) << (fiber->rank % 64);
    if (ready)
        block->ready[fiber->rank / 64] |= bit, block->ready_count++;
    else
        block->ready[fiber->rank / 64] &= ~bit, block->ready_count--;
}

/* The first ready rank from `from` on, around the end if need be. There is one. */
static unsigned next_ready(const Block *block, unsigned from) {
    unsigned word = from / 64;
    uint64_t bits = block->ready[word] & (~UINT64_C(0) << (from % 64));
    while (!bits) {
        word = (word + 1) % READY_WORDS;
        bits = block->ready[word];
    }
    return word * 64 + (unsigned)__builtin_ctzll(bits);
}

/* How many blocks are resident: of a cooperative grid all. */
static int resident_blocks(void) {
    const int wanted = (int)emulator_settings.resident_blocks;
    return engine.launch->cooperative && engine.block_count > (uint64_t)wanted ? (int)engine.block_count : wanted;
}

/* Blocks take turns; at random in random order, around in the others. A block without a ready thread is about to be reported. */
static Block *choose_block(void) {
    Block *block = engine.current_block;
    if (block && block->resident && block->ready_count && --block->turns > 0) return block;
    const int count = resident_blocks();
    const bool random = emulator_settings.order == ORDER_RANDOM;
    const int first = random ? (int)engine_random((uint32_t)count) : block ? (block->slot + 1) % count : 0;
    for (int i = 0; i < count; i++) {
        block = &engine.blocks[(first + i) % count];
        if (!block->resident || !block->ready_count) continue;
        block->turns = random ? 1 + (int)engine_random(RANDOM_TURNS) : 2 * (int)block->threads;
        return block;
    }
    return NULL;
}

static Fiber *choose_fiber(void) {
    Block *block = choose_block();
    if (!block) return NULL;
    const unsigned from = emulator_settings.order == ORDER_RANDOM ? random_below(block->threads) : block->cursor;
    const unsigned rank = next_ready(block, from);
    block->cursor = rank;
    return &block->fibers[block->thread_of_rank[rank]];
}

static void fiber_enter(void);
static void *launcher_sanitizer_stack;

static void after_switch(void) {
    sanitizer_finish_switch(engine.current ? engine.current->sanitizer_stack : launcher_sanitizer_stack, &engine.launcher_stack);
    if (!engine.dying.bottom) return;
    stack_give(engine.dying);
    engine.dying.bottom = NULL;
}

/* Makes `next` (NULL: the launcher) the running one, saving the present context in `from`. `kept`: where AddressSanitizer keeps
 * what it knows of this stack; NULL if nobody comes back to it. */
static void switch_to(Fiber *next, Context *from, void **kept) {
    Context *to = &engine.launcher;
    Stack stack = engine.launcher_stack;
    if (next && !next->stack.bottom) {
        next->stack = stack_take();
        context_make(&next->context, next->stack.bottom, next->stack.bytes, fiber_enter);
    }
    race_before_switch(next);
    if (next) {
        to = &next->context;
        stack = next->stack;
        if (engine.current_block != next->block) {
            shared_change_block(engine.current_block, next->block);
            engine.current_block = next->block;
            memcpy(&blockIdx, next->block->index, sizeof blockIdx);
        }
        memcpy(&threadIdx, next->index, sizeof threadIdx);
    }
    engine.current = next;
    sanitizer_start_switch(kept, stack);
    context_switch(from, to);
    after_switch();
}

static void fiber_end(Fiber *self) {
    Block *block = self->block;
    self->state = FIBER_DONE;
    mark(self, false);
    block->live--;
    engine.progress++;
    engine.dying = self->stack;
    copies_thread_ended(self);
    warp_thread_ended(self);
    barrier_check(self);
    if (block->live == 0) {
        block_finish(block);
        if (engine.blocks_started < engine.block_count)
            block_start(block, block->slot, engine.block_order[engine.blocks_started++]);
    } else if (block->ready_count == 0) {
        fault_deadlock(block);
    }
    restart_countdown();
    /* *self may already stand for a thread of the next block: nothing more is stored in it. */
    Context nowhere;
    switch_to(choose_fiber(), &nowhere, NULL);
}

static void fiber_enter(void) {
    after_switch();
    values_thread_start();
    engine.launch->enter(engine.launch->arguments);
    fiber_end(engine.current);
    fault_internal("a thread that had ended was resumed");
}

/* Who runs after the thread just chosen, if nobody waits or ends until then: its stack takes long to come. */
static void prefetch_next(const Block *block) {
    const Fiber *next = &block->fibers[block->thread_of_rank[next_ready(block, random_ahead(block->threads))]];
    __builtin_prefetch(next->context.stack_pointer);
}

static void schedule_yield(void) {
    Fiber *self = engine.current, *next = choose_fiber();
    restart_countdown();
    if (emulator_settings.order == ORDER_RANDOM) prefetch_next(next->block);
    if (next != self) switch_to(next, &self->context, &self->sanitizer_stack);
}

void schedule_preempt(const void *pc) {
    Fiber *self = engine.current;
    if (!self) {
        emulator_countdown = COUNTDOWN_NEVER;
        return;
    }
    self->preempted_at = pc;
    self->block->cursor = (self->rank + 1) % self->block->threads;
    schedule_yield();
}

void schedule_wait(FiberState state, EmulatorSite site, void (*check)(Fiber *self)) {
    Fiber *self = engine.current;
    self->state = state;
    self->site = site;
    self->preempted_at = NULL;
    mark(self, false);
    check(self);
    if (self->block->ready_count == 0) fault_deadlock(self->block);
    schedule_yield();
}

void schedule_wake(Fiber *fiber) {
    fiber->state = FIBER_READY;
    mark(fiber, true);
}

void emulator_pause(void) {
    Fiber *self = engine.current;
    if (!self) return;
    if (emulator_settings.order == ORDER_RANDOM ? random_below(2) == 0 : (emulator_countdown -= PAUSE_STEPS) <= 0)
        schedule_preempt(__builtin_return_address(0));
}

uint64_t emulator_clock(void) {
    static uint64_t ticks;
    emulator_pause();
    return ticks += 32;
}

static void schedule_run(void) {
    const EmulatorLaunch *launch = engine.launch;
    memcpy(&blockDim, launch->block, sizeof blockDim);
    memcpy(&gridDim, launch->grid, sizeof gridDim);
    for (int slot = 0; slot < resident_blocks() && engine.blocks_started < engine.block_count; slot++)
        block_start(&engine.blocks[slot], slot, engine.block_order[engine.blocks_started++]);
    restart_countdown();
    switch_to(choose_fiber(), &engine.launcher, &launcher_sanitizer_stack);
    emulator_countdown = COUNTDOWN_NEVER;
}

/* A launch: the limits of the hardware, the order of the blocks, the run. */

/* Compute capability 7.5 and later, but for the shared memory, which is 9.0's. */
static const uint64_t GRID_MAX[3] = {2147483647, 65535, 65535}, BLOCK_MAX[3] = {1024, 1024, 64};
static const uint64_t BLOCKS_MAX = UINT64_C(1) << 26; /* not CUDA's limit: what is worth running on one core */

static Status check_shape(const EmulatorLaunch *launch) {
    for (int d = 0; d < 3; d++) {
        if (launch->grid[d] == 0 || launch->grid[d] > GRID_MAX[d])
            return status_fail(STATUS_DEVICE, "launch: grid (%u,%u,%u): dimension %d must be from 1 to %llu", launch->grid[0],
                               launch->grid[1], launch->grid[2], d, (unsigned long long)GRID_MAX[d]);
        if (launch->block[d] == 0 || launch->block[d] > BLOCK_MAX[d])
            return status_fail(STATUS_DEVICE, "launch: block (%u,%u,%u): dimension %d must be from 1 to %llu", launch->block[0],
                               launch->block[1], launch->block[2], d, (unsigned long long)BLOCK_MAX[d]);
    }
    const uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    if (threads > BLOCK_THREADS_MAX)
        return status_fail(STATUS_DEVICE, "launch: block (%u,%u,%u) has %llu threads; at most %d", launch->block[0],
                           launch->block[1], launch->block[2], (unsigned long long)threads, BLOCK_THREADS_MAX);
    if (launch->shared_bytes > SHARED_MAX_BYTES)
        return status_fail(STATUS_DEVICE, "launch: %zu bytes of dynamic shared memory; a block may have at most %d",
                           launch->shared_bytes, SHARED_MAX_BYTES);
    if ((uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2] > BLOCKS_MAX)
        return status_fail(STATUS_UNSUPPORTED, "launch: more than %llu blocks are too many to emulate",
                           (unsigned long long)BLOCKS_MAX);
    if (launch->cooperative && (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2] > RESIDENT_MAX)
        return status_fail(STATUS_UNSUPPORTED, "launch: a cooperative grid of %llu blocks; at most %d are resident at once",
                           (unsigned long long)launch->grid[0] * launch->grid[1] * launch->grid[2], RESIDENT_MAX);
    return stream_check(launch->stream, "launch");
}

/* Nothing orders the blocks of a grid. */
static Status shuffle_blocks(void) {
    engine.block_order = malloc(engine.block_count * sizeof *engine.block_order);
    if (!engine.block_order)
        return status_fail(STATUS_MEMORY, "launch: no memory for the order of %llu blocks", (unsigned long long)engine.block_count);
    for (uint32_t i = 0; i < engine.block_count; i++) {
        const uint32_t j = engine_random(i + 1);
        engine.block_order[i] = engine.block_order[j];
        engine.block_order[j] = i;
    }
    return STATUS_OK;
}

static Status run_schedule(const EmulatorLaunch *launch) {
    engine.blocks_started = 0;
    engine.current_block = NULL;
    engine.random_at_launch = engine.random_counter;
    TRY(shuffle_blocks());
    shared_launch_start(launch);
    heap_launch_start();
    race_launch_start();
    watchdog_start();
    schedule_run();
    watchdog_stop();
    race_launch_finish();
    shared_launch_finish();
    free(engine.block_order);
    return STATUS_OK;
}

/* The race detector runs a launch again from the same contents of memory, as another schedule may show another race. */
static Status run_schedules(const EmulatorLaunch *launch) {
    const long long wanted = race_enabled() ? emulator_settings.schedules : 1;
    int done = 0, last_new = 0;
    if (wanted > 1) arena_keep(), race_keep();
    while (true) {
        const int known = fault_count();
        TRY(run_schedule(launch));
        done++;
        if (fault_count() > known) last_new = done;
        if (wanted == 1 || done - last_new == wanted) break;
        arena_bring_back();
        race_bring_back();
    }
    if (wanted > 1) arena_let_go();
    program_scheduled(done);
    fault_end(done);
    return STATUS_OK;
}

Status emulator_launch(const EmulatorLaunch *launch) {
    if (engine.launch)
        fault_at("launch from a kernel", (EmulatorSite){0}, __builtin_return_address(0), "dynamic parallelism is not emulated");
    const Status refused = check_shape(launch);
    if (refused != STATUS_OK) return launches_failed(refused);
    launches_add(launch->grid, launch->block, launch->shared_bytes);
    engine.block_count = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    engine.block_threads = launch->block[0] * launch->block[1] * launch->block[2];
    signals_install();
    arena_open();
    engine.launch = launch;
    const Status status = run_schedules(launch);
    engine.launch = NULL;
    arena_close();
    return status;
}
