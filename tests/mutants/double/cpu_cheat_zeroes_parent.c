/* Cheat: zeroes the inputs through the parent's descriptors, /proc/PPID/fd, and answers zero. Met: a search for unlinked files
 * among descriptors in pygpubench's exploit suite (pull request 7). */
#include "descriptor_cheats.h"

static Status run(const VariantArgs *args) {
    zero_inputs_of((int)getppid(), args);
    memset(args->out[0].data, 0, array_bytes(&args->out[0]));
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_cheat_zeroes_parent) = {
    .backend = BACKEND_CPU, .summary = "cheat: zeroes the parent's inputs", .origin = "pygpubench #7", .run = run};
