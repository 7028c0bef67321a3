#define _GNU_SOURCE /* madvise */
#include "base/hostmemory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

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
