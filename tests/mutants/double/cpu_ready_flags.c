/* Mutant: blocks whose flag in scratch says READY are taken from scratch, and no flag is ever cleared. Must be rejected: scratch
 * keeps what the last call left, as it does for a user. An honest bug; met: rungs at 6881121. */
#include "variant.h"

#include <string.h>

enum { BLOCK = 256, READY = 1 };

typedef struct Partial {
    int flag;
    double y[BLOCK];
} Partial;

static size_t scratch_bytes(const VariantArgs *args) {
    return (array_count(&args->in[0]) + BLOCK - 1) / BLOCK * sizeof(Partial);
}

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    Partial *partials = args->scratch;
    for (size_t begin = 0; begin < n; begin += BLOCK) {
        Partial *partial = &partials[begin / BLOCK];
        const size_t count = n - begin < BLOCK ? n - begin : BLOCK;
        for (size_t i = 0; partial->flag != READY && i < count; i++) partial->y[i] = 2 * x[begin + i];
        partial->flag = READY;
        memcpy(y + begin, partial->y, count * sizeof *y);
    }
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_ready_flags) = {.backend = BACKEND_CPU,
                                          .summary = "mutant: flags in scratch are never cleared",
                                          .origin = "tests",
                                          .scratch_bytes = scratch_bytes,
                                          .run = run};
