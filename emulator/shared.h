/* shared.h - shared memory: dynamic, allocated to the byte for each block; static, one place that resident blocks take turns in. */
#ifndef RUNGS_EMULATOR_SHARED_H
#define RUNGS_EMULATOR_SHARED_H

#include "emulator/fiber.h"

/* Finds the __shared__ variables of the launch's source file. */
void shared_launch_start(const EmulatorLaunch *launch);
void shared_launch_finish(void);
void shared_block_start(Block *block);
void shared_block_finish(Block *block);
/* Puts the __shared__ variables of `to` in place of those of `from` (either may be NULL). */
void shared_change_block(Block *from, Block *to);

/* Is the address within a static __shared__ variable's section / within a resident block's dynamic memory (whose, then)? */
bool shared_is_static(const void *address);
Block *shared_dynamic_owner(const void *address);
void shared_static_range(unsigned char **begin, size_t *bytes);

/* Each slot's dynamic memory lies in a region of its own, this many bytes apart. */
enum { SHARED_MAX_BYTES = 227 * 1024, SHARED_SLOT_BYTES = 256 * 1024 };
unsigned char *shared_slots(void);

#endif
