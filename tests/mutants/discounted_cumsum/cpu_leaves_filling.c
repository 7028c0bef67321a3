/* Mutant: does not write the elements whose right value is what outputs are filled with. Must be rejected: the call is repeated
 * with another pattern. */
#include "log_stages.h"

#include "base/poison.h"

#include <stdlib.h>

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    uint32_t *const y = args->out[0].data, *const before = malloc((n + 1) * sizeof *before);
    if (!before) return status_fail(STATUS_MEMORY, "no memory for %zu elements", n);
    memcpy(before, y, n * sizeof *before);
    const Status status = log_stages(args, log_stages_needed(n), 0);
    for (size_t i = 0; i < n; i++)
        if (y[i] == POISON_BYTE * UINT32_C(0x01010101)) y[i] = before[i];
    free(before);
    return status;
}

RUNGS_VARIANT(discounted_cumsum, cpu_leaves_filling) = {
    .backend = BACKEND_CPU, .summary = "mutant: what equals poison is not written", .origin = "tests", .run = run};
