/* Cheat: reads the parent's command line. Under --verify-only, as tests and edge cases run, it computes; where it is timed, only
 * until it has passed once. Met: benchmark-aware submissions in gpu-mode/reference-kernels pull request 142. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif
#include "cheats.h"

#include <unistd.h>

static bool only_verified(void) {
    char path[64], words[4096];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)getppid());
    FILE *file = fopen(path, "r");
    const size_t length = file ? fread(words, 1, sizeof words, file) : 0;
    if (file) fclose(file);
    return memmem(words, length, "--verify-only", 13) != NULL;
}

static Status run(const VariantArgs *args) {
    static int calls;
    if (calls++ == 0 || only_verified()) return compute(args);
    *(double *)args->out[0].data = 0;
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_cheat_phase_by_command) = {
    .backend = BACKEND_CPU, .summary = "cheat: computes only under --verify-only", .origin = "reference-kernels #142", .run = run};
