#include "base/memory.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

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

void memory_missed(void) {
    failed = true;
}

Status memory_check(void) {
    return failed ? status_fail(STATUS_MEMORY, "out of host memory") : STATUS_OK;
}

static const size_t HUGE_BYTES = (size_t)2 << 20;

size_t hostmemory_available_bytes(void) {
    FILE *file = fopen("/proc/meminfo", "r");
    if (!file) return 0;
    char line[128];
    size_t kib = 0;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %zu kB", &kib) == 1) break;
    fclose(file);
    return kib * 1024;
}

void *hostmemory_allocate(size_t bytes) {
    if (bytes < 2 * HUGE_BYTES || bytes > SIZE_MAX / 2) return malloc(bytes ? bytes : 1);
    const size_t whole = (bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
    void *block = aligned_alloc(HUGE_BYTES, whole);
    if (block) (void)madvise(block, whole, MADV_HUGEPAGE); /* a hint; refusal only costs speed */
    return block;
}
