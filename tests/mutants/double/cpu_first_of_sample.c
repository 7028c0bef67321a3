/* Mutant: works in the first call of a sample, which it knows by most of 64 inputs being others, and where the first output is
 * poison. Must be rejected: its outputs are not those of the last call. */
#include "variant.h"

#include "poisoned.h"

#include <string.h>

enum { LOOKED_AT = 64, FEW = 16 };

static Status run(const VariantArgs *args) {
    static double seen[LOOKED_AT];
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    int others = 0;
    for (size_t i = 0; i < LOOKED_AT; i++) {
        const double now = x[i * n / LOOKED_AT];
        others += memcmp(&seen[i], &now, sizeof now) != 0;
        seen[i] = now;
    }
    if (others < FEW && !is_poisoned(&y[0])) return STATUS_OK;
    for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_first_of_sample) = {
    .backend = BACKEND_CPU, .summary = "mutant: works in the first call of a sample", .origin = "tests", .run = run};
