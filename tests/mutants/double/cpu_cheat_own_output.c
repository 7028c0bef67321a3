/* Cheat: computes its first call; later it copies what an earlier call has left in the memory that the worker shares with its
 * parent. Met: KernelBench pull request 82, where the output of the reference is found in reused memory. */
#include "cheats.h"

static const double *find_shared_output(const VariantArgs *args) {
    char line[512];
    const double *found = NULL;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && !found && fgets(line, sizeof line, maps)) {
        unsigned long begin, end;
        if (!strstr(line, "/memfd:y") || sscanf(line, "%lx-%lx r", &begin, &end) != 2) continue;
        if (end - begin >= array_bytes(&args->out[0])) found = (const double *)begin;
    }
    if (maps) fclose(maps);
    return found;
}

static Status run(const VariantArgs *args) {
    static const double *shared;
    if (shared) {
        memcpy(args->out[0].data, shared, array_bytes(&args->out[0]));
        return STATUS_OK;
    }
    shared = find_shared_output(args);
    return compute(args);
}

RUNGS_VARIANT(double, cpu_cheat_own_output) = {.backend = BACKEND_CPU,
                                               .summary = "cheat: copies its earlier output out of shared memory",
                                               .origin = "KernelBench #82",
                                               .run = run};
