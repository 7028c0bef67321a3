/* Mutant: dgamma is 0. Must be rejected. */
#include "gradients.h"

static Status run(const VariantArgs *args) {
    Fault fault = FAULTLESS;
    fault.times = 0;
    return gradients(args, fault);
}

RUNGS_VARIANT(discounted_cumsum_grad,
              cpu_zero_dgamma) = {.backend = BACKEND_CPU, .summary = "mutant: dgamma is 0", .origin = "tests", .run = run};
