/* arena.h - device memory: one reserved range of addresses, so that an address alone tells whether it is the device's. Freed memory
 * is never handed out again, so that a late access is found. */
#ifndef RUNGS_EMULATOR_ARENA_H
#define RUNGS_EMULATOR_ARENA_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

Status arena_allocate(size_t bytes, void **out);
/* STATUS_INVALID if it is not the start of a live allocation. */
Status arena_release(void *pointer);
size_t arena_in_use(void);

/* Device memory is out of bounds for the host but while this is open. Nests. */
void arena_open(void);
void arena_close(void);

bool arena_contains(const void *address);
/* The reserved range, and how much of it was ever handed out. */
unsigned char *arena_begin(void);
size_t arena_reserved(void);
size_t arena_handed_out(void);
/* Are all these bytes inside one live allocation, and none of them a guard? */
bool arena_valid(const void *address, size_t bytes);
/* Bytes that kernels may neither read nor write: the guards around an array. */
void arena_forbid(void *from, size_t bytes);
bool arena_describe(const void *address, char *text, size_t size);

#endif
