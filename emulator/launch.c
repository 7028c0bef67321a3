/* A launch: the limits of the hardware, the order of the blocks, the run. */
#include "base/launches.h"
#include "emulator/arena.h"
#include "emulator/fault.h"
#include "emulator/fiber.h"
#include "emulator/heap.h"
#include "emulator/race.h"
#include "emulator/shared.h"
#include "emulator/signals.h"
#include "emulator/stream.h"

#include <stdlib.h>

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

Status emulator_launch(const EmulatorLaunch *launch) {
    if (engine.launch)
        fault_at("launch from a kernel", (EmulatorSite){0}, __builtin_return_address(0), "dynamic parallelism is not emulated");
    const Status refused = check_shape(launch);
    if (refused != STATUS_OK) return launches_failed(refused);
    launches_add(launch->grid, launch->block, launch->shared_bytes);
    engine.block_count = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    engine.block_threads = launch->block[0] * launch->block[1] * launch->block[2];
    engine.blocks_started = 0;
    engine.current_block = NULL;
    TRY(shuffle_blocks());
    signals_install();
    arena_open();
    engine.launch = launch;
    shared_launch_start(launch);
    heap_launch_start();
    race_launch_start();
    watchdog_start();
    schedule_run();
    watchdog_stop();
    race_launch_finish();
    shared_launch_finish();
    engine.launch = NULL;
    arena_close();
    free(engine.block_order);
    return STATUS_OK;
}
