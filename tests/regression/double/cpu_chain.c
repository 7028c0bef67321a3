/* Idea: y = 2 x, after a chain of integer steps for each of a few elements: the CPU's cuda_chain.
 * Traffic: every element once.
 * Rounding: exact.
 * Limits: none.
 * Origin: ours; a slow-down of known size for `rungs compare` to find. */
#include "extra.h"
#include "variant.h"

#include <stdint.h>

static const size_t STRIDE = 64;

static uint32_t chain(uint32_t state, uint32_t rounds) {
    for (uint32_t round = 0; round < rounds; round++)
        for (int k = 0; k < ROUND_STEPS; k++) {
            state ^= state >> 13;
            state *= 0x5bd1e995u;
        }
    return state;
}

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    volatile uint32_t given = ROUNDS, kept; /* a number that the compiler does not know; a use for the chain */
    const uint32_t rounds = given;
    for (size_t i = 0; i < n; i += STRIDE) kept = chain((uint32_t)i | 1u, rounds);
    (void)kept;
    if (args->problem->dtype == DTYPE_F64) {
        const double *x = args->in[0].data;
        double *y = args->out[0].data;
        for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];
    } else {
        const float *x = args->in[0].data;
        float *y = args->out[0].data;
        for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];
    }
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_chain) = {
    .backend = BACKEND_CPU,
    .summary = "a chain of known length before the result",
    .origin = "ours",
    .run = run,
};
