/* hostmemory.h - large blocks of memory, and how much of it this machine has left. */
#ifndef RUNGS_BASE_HOSTMEMORY_H
#define RUNGS_BASE_HOSTMEMORY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that could be had without swapping, as the kernel estimates them (MemAvailable); 0 if it does not say. A container's own
 * limit is not in it. */
size_t hostmemory_available_bytes(void);
/* As malloc(), for free(); of huge pages where the kernel has them on request: a gigabyte of small ones takes seconds to come. */
void *hostmemory_allocate(size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
