/* Mutant: one row in the middle is missing in dgamma. Must be rejected. */
#include "gradients.h"

static Status run(const VariantArgs *args) {
    Fault fault = FAULTLESS;
    fault.row = rows_of(args) / 2;
    return gradients(args, fault);
}

RUNGS_VARIANT(discounted_cumsum_grad, cpu_drops_row) = {
    .backend = BACKEND_CPU, .summary = "mutant: a row is missing in dgamma", .origin = "tests", .run = run};
