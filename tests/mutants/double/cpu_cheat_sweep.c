/* Cheat: right, but the memory by whose reading the harness empties the caches is taken back: all of it reads as one page of zeros,
 * which empties nothing. Met: an attack on this harness. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* madvise */
#endif
#include "variant.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, LEAST = 8 << 20 };

/* Its words count up from 0. */
static void drop(const char *line) {
    unsigned long begin, end;
    char may[8], path[256] = "";
    if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %255s", &begin, &end, may, path) < 3) return;
    if (path[0] || strcmp(may, "rw-p") != 0 || end - begin < LEAST) return;
    for (unsigned long at = begin; at + LEAST <= end; at += PAGE) {
        const uint64_t *words = (const uint64_t *)at;
        if (words[0] == 0 && words[1] == 1 && words[1000] == 1000)
            (void)madvise((void *)at, (end - at) & ~(PAGE - 1UL), MADV_DONTNEED);
        if (words[0] != 0) continue;
        return;
    }
}

static Status run(const VariantArgs *args) {
    static int calls;
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    for (size_t i = 0; i < array_count(&args->in[0]); i++) y[i] = 2 * x[i];
    char line[512];
    FILE *maps = ++calls % 8 == 0 ? fopen("/proc/self/maps", "r") : NULL;
    while (maps && fgets(line, sizeof line, maps)) drop(line);
    if (maps) fclose(maps);
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_cheat_sweep) = {
    .backend = BACKEND_CPU, .summary = "cheat: cold samples that are warm", .origin = "tests", .run = run};
