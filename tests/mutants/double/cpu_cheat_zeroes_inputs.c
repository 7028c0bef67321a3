/* Cheat: sets its input to zero and answers zero, which is right for what it left behind. Met: KernelBench pull request 82. */
#include "cheats.h"

static Status run(const VariantArgs *args) {
    memset(args->in[0].data, 0, array_bytes(&args->in[0]));
    memset(args->out[0].data, 0, array_bytes(&args->out[0]));
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_cheat_zeroes_inputs) = {
    .backend = BACKEND_CPU, .summary = "cheat: sets its input to zero and answers zero", .origin = "KernelBench #82", .run = run};
