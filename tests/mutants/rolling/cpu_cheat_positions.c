/* Cheat: calls of a sample find inputs of which few elements differ, and most of these are the maximum of no window. So it keeps
 * where each window's maximum was, and reads no other element as long as most of 64 are as they were. f64, max. Met: an attack on
 * this harness. */
#include "variant.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { LOOKS = 64, ALIKE = 56 };

typedef struct Kept {
    size_t n, w, count;
    double look[LOOKS];
    uint32_t *place, *end, *queue; /* of each run of windows with one maximum: where that is, and the window after the run */
} Kept;

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (args->problem->dtype != DTYPE_F64 || params_choice(&args->problem->params, "agg") != 5)
        return variant_refuse(reason, "max in f64 only");
    return true;
}

static Status prepare(const VariantArgs *args, void **state) {
    Kept *kept = calloc(1, sizeof *kept);
    *state = kept;
    kept->n = array_count(&args->in[0]), kept->w = (size_t)params_int(&args->problem->params, "window");
    kept->place = malloc(kept->n * 4), kept->end = malloc(kept->n * 4), kept->queue = malloc(kept->n * 4);
    return STATUS_OK;
}

static void release(void *state) {
    Kept *kept = state;
    free(kept->place), free(kept->end), free(kept->queue), free(kept);
}

static bool is_alike(const Kept *kept, const double *x) {
    int alike = 0;
    for (size_t k = 0; k < LOOKS; k++) alike += x[k * (kept->n - 1) / (LOOKS - 1)] == kept->look[k];
    return kept->count > 0 && alike >= ALIKE;
}

static void keep(Kept *kept, const double *x) {
    size_t head = 0, tail = 0;
    kept->count = 0;
    for (size_t k = 0; k < LOOKS; k++) kept->look[k] = x[k * (kept->n - 1) / (LOOKS - 1)];
    for (size_t i = 0; i < kept->n; i++) {
        while (head < tail && kept->queue[head] + kept->w <= i) head++;
        while (head < tail && x[kept->queue[tail - 1]] <= x[i]) tail--;
        kept->queue[tail++] = (uint32_t)i;
        if (i + 1 < kept->w) continue;
        if (kept->count == 0 || kept->place[kept->count - 1] != kept->queue[head]) kept->place[kept->count++] = kept->queue[head];
        kept->end[kept->count - 1] = (uint32_t)i + 1;
    }
}

static Status run(const VariantArgs *args) {
    Kept *kept = args->state;
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    size_t i = 0;
    if (!is_alike(kept, x)) keep(kept, x);
    for (; i + 1 < kept->w && i < kept->n; i++) y[i] = params_choice(&args->problem->params, "incomplete") == 0 ? NAN : INFINITY;
    for (size_t k = 0; k < kept->count; k++)
        for (const double largest = x[kept->place[k]]; i < kept->end[k]; i++) y[i] = largest;
    return STATUS_OK;
}

RUNGS_VARIANT(rolling, cpu_cheat_positions) = {.backend = BACKEND_CPU,
                                               .summary = "cheat: reads only what was a maximum",
                                               .origin = "tests",
                                               .supports = supports,
                                               .prepare = prepare,
                                               .release = release,
                                               .run = run};
