#include "measure/cache.h"

#include "base/shares.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static const size_t GUESS_BYTES = (size_t)32 << 20;
enum { LEVEL_INDICES = 6 };

static bool read_word(long cpu, int index, const char *what, const char *format, void *value) {
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%ld/cache/index%d/%s", cpu, index, what);
    FILE *file = fopen(path, "r");
    if (!file) return false;
    const bool read = fscanf(file, format, value) == 1;
    fclose(file);
    return read;
}

/* Bytes of cache `index` of `cpu`, if this is the first CPU that shares it and it is not a first-level cache. */
static size_t owned_bytes(long cpu, int index) {
    int level = 0;
    long first_sharer = -1;
    size_t kib = 0;
    if (!read_word(cpu, index, "level", "%d", &level) || level < 2) return 0;
    if (!read_word(cpu, index, "shared_cpu_list", "%ld", &first_sharer) || first_sharer != cpu) return 0;
    return read_word(cpu, index, "size", "%zuK", &kib) ? kib * 1024 : 0;
}

size_t cache_bytes_total(void) {
    const long cpus = sysconf(_SC_NPROCESSORS_CONF);
    size_t total = 0;
    for (long cpu = 0; cpu < cpus; cpu++)
        for (int index = 0; index < LEVEL_INDICES; index++) total += owned_bytes(cpu, index);
    return total ? total : GUESS_BYTES;
}

size_t cache_sweep_bytes(void) {
    return 2 * cache_bytes_total();
}

static void fill(void *words, size_t begin, size_t end) {
    uint64_t *word = words;
    for (size_t i = begin; i < end; i++) word[i] = i;
}

void cache_fill(uint64_t *words, size_t count) {
    shares_run(count, 1, fill, words);
}

static void sweep(void *words, size_t begin, size_t end) {
    const uint64_t *word = words;
    uint64_t sum = 0;
    for (size_t i = begin; i < end; i++) sum += word[i];
    volatile uint64_t used = sum; /* or the reads could be left out */
    (void)used;
}

void cache_sweep(const uint64_t *words, size_t count) {
    shares_run(count, 1, sweep, (void *)(uintptr_t)words);
}
