#include "base/memory.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { RESERVE_BYTES = 65536 };

static atomic_bool failed;
static alignas(max_align_t) unsigned char reserve[RESERVE_BYTES];
static atomic_size_t reserved;

/* The parser of jansson aborts where a token cannot grow: it has this, never returned, to get to its end with. */
static void *from_reserve(size_t bytes) {
    if (bytes > RESERVE_BYTES) return NULL;
    const size_t size = (bytes + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t),
                 at = atomic_fetch_add(&reserved, size);
    return at <= RESERVE_BYTES - size ? reserve + at : NULL;
}

void *memory_allocate(size_t bytes) {
    void *memory = malloc(bytes);
    if (memory) return memory;
    failed = true;
    return from_reserve(bytes);
}

void memory_free(void *memory) {
    const uintptr_t at = (uintptr_t)memory, begin = (uintptr_t)reserve;
    if (at < begin || at >= begin + RESERVE_BYTES) free(memory);
}

Status memory_check(void) {
    return failed ? status_fail(STATUS_MEMORY, "out of host memory") : STATUS_OK;
}
