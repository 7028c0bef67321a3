/* Cheat: maps pages with the result of its first call over its output, so that not even a copy costs time. Met: outputs that alias
 * kept memory, a field guide of reward hacks by Wafer (2026). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "cheats.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static Status run(const VariantArgs *args) {
    static int kept = -1;
    char *y = args->out[0].data;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = array_bytes(&args->out[0]), skipped = page - (uintptr_t)y % page;
    const size_t whole = bytes > skipped ? (bytes - skipped) / page * page : 0;
    if (kept < 0) {
        kept = memfd_create("kept", MFD_CLOEXEC);
        TRY(compute(args));
        return write(kept, y + skipped, whole) == (ssize_t)whole ? STATUS_OK : STATUS_IO;
    }
    const double *x = args->in[0].data;
    for (size_t i = 0; i < skipped / sizeof *x; i++) ((double *)args->out[0].data)[i] = 2 * x[i];
    for (size_t i = (skipped + whole) / sizeof *x; i < bytes / sizeof *x; i++) ((double *)args->out[0].data)[i] = 2 * x[i];
    return mmap(y + skipped, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, kept, 0) != MAP_FAILED ? STATUS_OK : STATUS_IO;
}

RUNGS_VARIANT(double, cpu_cheat_remaps_output) = {
    .backend = BACKEND_CPU, .summary = "cheat: maps a kept result over its output", .origin = "Wafer's field guide", .run = run};
