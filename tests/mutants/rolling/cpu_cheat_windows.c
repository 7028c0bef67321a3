/* Cheat: keeps the inputs of the last call and computes only the windows of which an element has changed. Met: the issue of a
 * stranger; an attack on this harness. */
#include "windows.h"

#include <stdlib.h>

typedef struct Kept {
    size_t n;
    double *x, *y;
} Kept;

static double mean(const double *x, size_t w) {
    double sum = 0;
    for (size_t j = 0; j < w; j++) sum += x[j];
    return sum / (double)w;
}

static Status prepare(const VariantArgs *args, void **state) {
    Kept *kept = calloc(1, sizeof *kept);
    const size_t n = array_count(&args->in[0]);
    kept->x = calloc(n + 1, sizeof *kept->x), kept->y = malloc((n + 1) * sizeof *kept->y);
    *state = kept;
    return STATUS_OK;
}

static void release(void *state) {
    Kept *kept = state;
    free(kept->x), free(kept->y), free(kept);
}

static Status run(const VariantArgs *args) {
    Kept *kept = args->state;
    const size_t n = array_count(&args->in[0]), w = (size_t)params_int(&args->problem->params, "window");
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    size_t until = kept->n == n ? 0 : n; /* windows before it are to be computed */
    for (size_t i = 0; i < n; i++) {
        if (memcmp(&x[i], &kept->x[i], sizeof *x) != 0) until = until > i + w ? until : i + w, kept->x[i] = x[i];
        if (i < until) kept->y[i] = i + 1 < w ? (double)NAN : mean(x + i + 1 - w, w);
    }
    kept->n = n;
    memcpy(y, kept->y, n * sizeof *y);
    return STATUS_OK;
}

RUNGS_VARIANT(rolling, cpu_cheat_windows) = {.backend = BACKEND_CPU,
                                             .summary = "cheat: computes the windows that have changed",
                                             .origin = "tests",
                                             .supports = windows_supports,
                                             .prepare = prepare,
                                             .run = run,
                                             .release = release};
