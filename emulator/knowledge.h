/* knowledge.h - vector clocks: up to which point of every other thread's life are its accesses known to have happened?
 *
 * A thread's life is counted in clocks; each synchronisation that publishes what it did ends one. Threads synchronise by whole
 * blocks most of the time, so knowledge is kept per block as a shared, counted vector and only what differs is copied. Values never
 * change once made; each function that returns one returns a reference to be dropped.
 */
#ifndef RUNGS_EMULATOR_KNOWLEDGE_H
#define RUNGS_EMULATOR_KNOWLEDGE_H

#include <stdbool.h>
#include <stdint.h>

/* NULL: nothing is known. */
typedef struct Knowledge Knowledge;

/* Threads of a block in this launch: the length of the vectors. */
void knowledge_set_threads(unsigned threads);

Knowledge *knowledge_share(Knowledge *self);
void knowledge_drop(Knowledge **self);
/* Of thread `thread` of block `block`: are its accesses up to `clock` known? */
bool knowledge_has(const Knowledge *self, uint32_t block, unsigned thread, uint32_t clock);
/* self = self and other. */
void knowledge_join(Knowledge **self, Knowledge *other);
/* self = self and the clocks of these threads of one block; clocks[i] is that of thread first + i, 0 for those left out. */
void knowledge_learn(Knowledge **self, uint32_t block, unsigned first, unsigned count, const uint32_t *clocks);

#endif
