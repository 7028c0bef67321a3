#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_attr_setaffinity_np */
#endif
#include "measure/cache.h"

#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static const size_t GUESS_BYTES = (size_t)32 << 20;
enum { LEVEL_INDICES = 6, SWEEPERS_MAX = 1024 };

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

typedef struct Share {
    uint64_t *words;
    size_t count;
} Share;

static void *sweep_share(void *context) {
    const Share *share = context;
    for (size_t i = 0; i < share->count; i++) share->words[i] = share->words[i] * 5 + 1;
    return NULL;
}

/* A thread inherits the mask of the one that starts it, which OpenMP may have bound to one place: then each gets a place, as in a
 * team. */
static void place(pthread_attr_t *attributes, int thread) {
    const int places = omp_get_proc_bind() == omp_proc_bind_false ? 0 : omp_get_num_places();
    if (places == 0) return;
    int processors[CPU_SETSIZE];
    const int index = thread % places, held = omp_get_place_num_procs(index);
    if (held < 1 || held > CPU_SETSIZE) return;
    omp_get_place_proc_ids(index, processors);
    cpu_set_t mask;
    CPU_ZERO(&mask);
    for (int i = 0; i < held; i++)
        if (processors[i] >= 0 && processors[i] < CPU_SETSIZE) CPU_SET((size_t)processors[i], &mask);
    (void)pthread_attr_setaffinity_np(attributes, sizeof mask, &mask); /* refused: swept from where we are */
}

void cache_sweep(uint64_t *words, size_t count) {
    static pthread_t started[SWEEPERS_MAX];
    static Share share[SWEEPERS_MAX];
    const int most = omp_get_max_threads(), threads = most < SWEEPERS_MAX ? most : SWEEPERS_MAX;
    bool runs[SWEEPERS_MAX] = {false};
    for (int t = 0; t < threads; t++) {
        const size_t begin = count * (size_t)t / (size_t)threads, end = count * (size_t)(t + 1) / (size_t)threads;
        share[t] = (Share){words + begin, end - begin};
        pthread_attr_t attributes;
        if (t == 0 || pthread_attr_init(&attributes) != 0) continue;
        place(&attributes, t);
        runs[t] = pthread_create(&started[t], &attributes, sweep_share, &share[t]) == 0;
        pthread_attr_destroy(&attributes);
    }
    for (int t = 0; t < threads; t++)
        if (!runs[t]) sweep_share(&share[t]);
    for (int t = 0; t < threads; t++)
        if (runs[t]) pthread_join(started[t], NULL);
}
