/* Not a mutant: what these are made from. Must pass. */
#include "gradients.h"

static Status run(const VariantArgs *args) {
    return gradients(args, FAULTLESS);
}

RUNGS_VARIANT(discounted_cumsum_grad,
              cpu_right) = {.backend = BACKEND_CPU, .summary = "no mutant: both gradients", .origin = "tests", .run = run};
