/* shadow.h - what the race detector remembers about memory: for each aligned word of eight bytes its last accesses and which of its
 * bytes were ever written. Device memory, and the shared memory of each resident block, have shadows; stacks and host memory do
 * not.
 */
#ifndef RUNGS_EMULATOR_SHADOW_H
#define RUNGS_EMULATOR_SHADOW_H

#include "emulator/fiber.h"

enum { WORD_BYTES = 8, WORD_ACCESSES = 8 };

enum { ACCESS_WRITES = 1, ACCESS_ATOMIC = 2 };

typedef struct Access {
    uint32_t block; /* linear */
    uint16_t thread;
    uint8_t bytes; /* mask within the word; 0: an unused place */
    uint8_t flags;
    uint32_t clock;
    uint32_t place; /* in the source: place_note() */
} Access;

typedef struct ShadowWord {
    Access accesses[WORD_ACCESSES];
} ShadowWord;

/* The shadow of the word that holds `address`, and its written bytes; false if the address has no shadow. */
bool shadow_find(const void *address, ShadowWord **word, unsigned char **written);
void shadow_set_written(const void *address, size_t bytes, bool is_written);
/* Fresh shared memory for a block; forget all accesses to device memory. */
void shadow_block_start(Block *block);
void shadow_launch_start(void);
void shadow_launch_finish(void);

#endif
