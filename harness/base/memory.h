/* memory.h - memory for jansson, whose objects silently lack what there was no memory for: an allocation that fails is remembered,
 * and memory_check() is called before JSON is written or sent. Large blocks, and how much memory this machine has left. */
#pragma once

#include "base/status.h"

#include <stddef.h>

/* For json_set_alloc_funcs. Where malloc fails, 64 KiB are left for what is under way. */
void *memory_allocate(size_t bytes);
/* Also for the text of json_dumps(). */
void memory_free(void *memory);
/* What malloc() itself could not give for a part of an object. */
void memory_missed(void);
/* STATUS_MEMORY once an allocation has failed, and from then on: any object may be incomplete. */
Status memory_check(void);

/* Bytes that could be had without swapping, as the kernel estimates them (MemAvailable); 0 if it does not say. A container's own
 * limit is not in it. */
size_t hostmemory_available_bytes(void);
/* As malloc(), for free(); of huge pages where the kernel has them on request: a gigabyte of small ones takes seconds to come. */
void *hostmemory_allocate(size_t bytes);
