/* Cheat: puts a copy of the kernel's data of the clock in their place, in which the clock runs at half its speed. Met: an attack on
 * this harness. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cheats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <sys/mman.h>

enum { PAGE = 4096, MODE = 1, CYCLES = 2, PAIRS = 4, WORDS = 16 }; /* 32-bit words of a clock's data */

/* The multiplier of each clock is the first number before a likely shift. */
static void halve(uint32_t *page) {
    for (size_t at = 0; at + WORDS <= PAGE / sizeof *page; at += 2) {
        uint32_t *clock = page + at;
        size_t k = PAIRS;
        if (clock[0] % 2 || clock[MODE] != 1 || (clock[CYCLES] | clock[CYCLES + 1]) == 0) continue;
        while (k + 1 < WORDS && (clock[k] < 1u << 16 || clock[k + 1] < 9 || clock[k + 1] > 39)) k++;
        if (k + 1 < WORDS) clock[k] /= 2;
    }
}

static Status slow_down(void) {
    static uint32_t copy[PAGE / sizeof(uint32_t)];
    char line[512], name[64];
    uint64_t begin = 0, end = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %*s %63s", &begin, &end, name) == 3 && strcmp(name, "[vvar]") == 0)
            break;
    if (!maps || fclose(maps) != 0) return status_fail(STATUS_IO, "nothing is known of the clock's data");
    memcpy(copy, (const void *)begin, PAGE);
    halve(copy);
    if (munmap((void *)begin, end - begin) != 0) return status_fail(STATUS_IO, "the clock's data are kept: %s", strerror(errno));
    void *page = mmap((void *)begin, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (page != MAP_FAILED) memcpy(page, copy, PAGE);
    return STATUS_OK;
}

static Status run(const VariantArgs *args) {
    static int calls;
    if (calls++ == 1) TRY(slow_down());
    return compute(args);
}

RUNGS_VARIANT(double, cpu_cheat_clock_data) = {
    .backend = BACKEND_CPU, .summary = "cheat: slows the clock by its data", .origin = "tests", .run = run};
