/* heap.h - the device's own heap: malloc() and free() in kernels. What is freed is not handed out again until all is freed and
 * another kernel begins, so that a late access is found. */
#ifndef RUNGS_EMULATOR_HEAP_H
#define RUNGS_EMULATOR_HEAP_H

#include <stdbool.h>
#include <stddef.h>

size_t heap_limit(void);
/* False once the heap is in use, as on the device. */
bool heap_set_limit(size_t bytes);
void heap_launch_start(void);
/* Bytes that kernels allocated and did not free. */
size_t heap_in_use(void);

/* What kernels' object files have in place of malloc() and free(): between launches they are the host's own. */
void *emulator_malloc(size_t bytes);
void emulator_free(void *pointer);

#endif
