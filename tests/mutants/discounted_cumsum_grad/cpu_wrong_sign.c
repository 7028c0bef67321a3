/* Mutant: dgamma has the wrong sign. Must be rejected. */
#include "gradients.h"

static Status run(const VariantArgs *args) {
    Fault fault = FAULTLESS;
    fault.times = -1;
    return gradients(args, fault);
}

RUNGS_VARIANT(discounted_cumsum_grad, cpu_wrong_sign) = {
    .backend = BACKEND_CPU, .summary = "mutant: dgamma has the wrong sign", .origin = "tests", .run = run};
