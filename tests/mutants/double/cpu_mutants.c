/* Mutants: what depends on what outputs and scratch held before. */
#include "../common/mutants.h"

#include "poisoned.h"

#include <math.h>

typedef struct Mistake {
    bool adds, keeps_larger, keeps_smaller; /* the result to, or of it and, what the output holds */
    bool dirty_scratch;                     /* adds up in scratch that nobody zeroes */
    bool leaves_poison;                     /* does not write what equals poison */
} Mistake;

#define MUTANTS(M)                                                                                                                 \
    M(nothing, 0)                                                                                                                  \
    M(adds, .adds = true)                                                                                                          \
    M(keeps_larger, .keeps_larger = true)                                                                                          \
    M(keeps_smaller, .keeps_smaller = true)                                                                                        \
    M(dirty_scratch, .dirty_scratch = true)                                                                                        \
    M(leaves_poison, .leaves_poison = true)
MUTANT_TABLE(Mistake)

static size_t scratch_bytes(const VariantArgs *args) {
    return array_bytes(&args->in[0]);
}

static Status run(const VariantArgs *args) {
    const Mistake *wrong = mutant_of(args);
    const double *x = args->in[0].data;
    double *y = args->out[0].data, *scratch = args->scratch;
    for (size_t i = 0; i < array_count(&args->in[0]); i++) {
        double value = 2 * x[i];
        if (wrong->dirty_scratch) value = scratch[i] += value;
        if (wrong->adds) value += y[i];
        if (wrong->keeps_larger) value = fmax(value, y[i]);
        if (wrong->keeps_smaller) value = fmin(value, y[i]);
        if (!wrong->leaves_poison || !is_poisoned(&value)) y[i] = value;
    }
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_mutants) = {.backend = BACKEND_CPU,
                                      .summary = "twice the input, and what was there before",
                                      .origin = "tests",
                                      .tunables = TUNABLES,
                                      .scratch_bytes = scratch_bytes,
                                      .run = run};
