/* Mutant: a part that a block adds up, an eighth of the first row, 8192 elements at most, is missing in dgamma. Must be
 * rejected. */
#include "gradients.h"

static Status run(const VariantArgs *args) {
    const size_t n = length_of(args);
    Fault fault = FAULTLESS;
    fault.begin = n / 2;
    fault.elements = n / 8 < 8192 ? n / 8 : 8192;
    return gradients(args, fault);
}

RUNGS_VARIANT(discounted_cumsum_grad, cpu_drops_part) = {
    .backend = BACKEND_CPU, .summary = "mutant: a part of a row is missing in dgamma", .origin = "tests", .run = run};
