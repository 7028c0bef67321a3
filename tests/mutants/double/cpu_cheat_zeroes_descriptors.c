/* Cheat: zeroes the shared inputs through the descriptors that it inherited, and answers zero: if the reference is computed from
 * them later, it agrees. Met: rungs 6881121. */
#include "descriptor_cheats.h"

static Status run(const VariantArgs *args) {
    zero_inputs_of((int)getpid(), args);
    memset(args->out[0].data, 0, array_bytes(&args->out[0]));
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_cheat_zeroes_descriptors) = {
    .backend = BACKEND_CPU, .summary = "cheat: zeroes the shared inputs and answers zero", .origin = "rungs 6881121", .run = run};
