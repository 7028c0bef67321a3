/* resource.h - the allocator behind args->memory (variant.h): every block is known, counted and accounted for after the call; in a
 * guarded call each also has guard words on both sides and a poisoned payload. */
#pragma once

#include "base/array.h"
#include "device/device.h"
#include "variant.h"

__BEGIN_DECLS

typedef struct Resource Resource;

/* What one call took, since resource_begin(). */
typedef struct ResourceCounts {
    const char *resource; /* "malloc", "cuda", "pool", "arena"; "emulator" */
    size_t allocations;   /* of more than 0 bytes */
    size_t live_bytes;    /* not released yet, outputs included */
    size_t peak_bytes;    /* most that was live at once, as asked for */
} ResourceCounts;

/* tunable: the value of the variant's `memory` (NULL: it has none, which is "cuda"). On the CPU and in the emulator there is one
 * kind of memory whatever it says. The device is open. */
Status resource_create(const Device *device, const char *tunable, Resource **out);
void resource_destroy(Resource *resource);
VariantMemory *resource_memory(Resource *resource);

/* Before a call and outside its time: releases what the last one left, counts from 0, and gives an arena the room that calls so far
 * needed. guarded: every block comes from the device itself, poisoned and between guards; calls in the emulator always are. */
Status resource_begin(Resource *resource, bool guarded);
/* After the call and its wait: `output`, with elements, must lie in a block that is live and no other output's, at its start, and
 * fit into it. The block belongs to the output from then on; guards that changed are reported under the output's name. */
Status resource_hand_over(Resource *resource, const Array *output);
/* After the last resource_hand_over(): what release() could not report (a pointer that is no block, a block released twice),
 * changed guards, and blocks that are live without being an output's. STATUS_CHECK. Handed over blocks live on until
 * resource_begin(). */
Status resource_end(Resource *resource);

ResourceCounts resource_counts(const Resource *resource);
/* Blocks come in the order of a stream, or out of memory that is there: an allocation does not wait for the device. */
bool resource_is_ordered(const Resource *resource);
/* Device memory that it keeps between calls (a pool, an arena): no leak. */
size_t resource_held_bytes(const Resource *resource);

__END_DECLS
