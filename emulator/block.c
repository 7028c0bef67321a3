/* A block's life in its slot: fresh fibers in a fresh order, fresh shared memory. */
#include "emulator/fault.h"
#include "emulator/fiber.h"
#include "emulator/race.h"
#include "emulator/shared.h"

#include <stdlib.h>
#include <string.h>

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

void block_start(Block *block, int slot, uint64_t linear) {
    const EmulatorLaunch *launch = engine.launch;
    Fiber *fibers = block->fibers ? block->fibers : calloc(BLOCK_THREADS_MAX, sizeof *fibers);
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
        *fiber = (Fiber){.block = block, .thread = thread, .rank = rank, .state = FIBER_READY};
        fiber->index[0] = thread % launch->block[0];
        fiber->index[1] = thread / launch->block[0] % launch->block[1];
        fiber->index[2] = thread / launch->block[0] / launch->block[1];
        block->ready[rank / 64] |= UINT64_C(1) << (rank % 64);
    }
    block->ready_count = block->threads;
    shared_block_start(block);
    race_block_start(block);
}

void block_finish(Block *block) {
    race_block_finish(block);
    shared_block_finish(block);
    block->resident = false;
    if (engine.current_block == block) engine.current_block = NULL;
}
