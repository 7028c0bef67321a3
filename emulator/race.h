/* race.h - the race detector: who may have seen whose writes. Active in programs whose kernels are compiled with -fsanitize=thread;
 * its hooks are ours (hooks.c), ThreadSanitizer's runtime is not linked.
 *
 * Happens-before: program order; block barriers; __syncwarp() among the lanes of its mask; a fence, then an atomic or volatile
 * write, read by an atomic or volatile read, then a fence; the beginning and end of a kernel. Shuffles and votes order no memory
 * (CUDA says so).
 */
#ifndef RUNGS_EMULATOR_RACE_H
#define RUNGS_EMULATOR_RACE_H

#include "emulator/fiber.h"

void race_launch_start(void);
void race_launch_finish(void);
void race_block_start(Block *block);
void race_block_finish(Block *block);
void race_block_barrier(Block *block);
void race_warp_sync(Block *block, unsigned first_thread, unsigned lanes);
void race_fence(EmulatorScope scope);
/* Atomic operations and, as CUDA's memory model has it, volatile accesses. */
void race_synchronising_access(const void *address, size_t bytes, EmulatorAccess access, const void *pc, EmulatorSite site);
void race_plain_access(const void *address, size_t bytes, bool write, const void *pc);
/* The host or a runtime call wrote these bytes of device memory: they count as initialised. Or: their contents are undefined. */
void race_host_wrote(const void *address, size_t bytes);
void race_host_allocated(const void *address, size_t bytes);

/* An uninitialised read that is not reported yet, in words; NULL if there is none. */
const char *race_pending_note(void);

#endif
