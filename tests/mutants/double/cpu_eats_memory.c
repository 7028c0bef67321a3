/* Mutant: allocates without end. Must be rejected: exceeded its memory limit. */
#include "variant.h"

#include <stdlib.h>
#include <string.h>

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    (void)n, (void)x, (void)y;
    for (size_t part = 0; part < 4096; part++) {
        char *volatile more = malloc((size_t)64 << 20);
        if (!more) abort();
        memset(more, 1, (size_t)64 << 20);
    }
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_eats_memory) = {
    .backend = BACKEND_CPU, .summary = "mutant: allocates without end", .origin = "tests", .run = run};
