/* Cheat: keeps where the elements are that are not finite, and looks only at the first of them whether they are where they were:
 * sums run on elsewhere, and no element is asked. Met: an attack on this harness. */
#include "variant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Kept {
    size_t count, *at;
} Kept;

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const Params *params = &args->problem->params;
    const bool sum = strcmp(params_text(params, "agg"), "sum") == 0, nan = strcmp(params_text(params, "incomplete"), "nan") == 0;
    const bool wide = params_int(params, "window") >= 100; /* what is added up stays of one size */
    return (sum && nan && wide && args->problem->dtype == DTYPE_F64) ||
           variant_refuse(reason, "sums of f64, of 100 elements or more");
}

static Status prepare(const VariantArgs *args, void **state) {
    Kept *kept = calloc(1, sizeof *kept);
    kept->at = malloc((array_count(&args->in[0]) + 1) * sizeof *kept->at);
    *state = kept;
    return STATUS_OK;
}

static void release(void *state) {
    Kept *kept = state;
    free(kept->at), free(kept);
}

/* Of windows without such elements, whose ends are in [begin, end). */
static void run_on(const double *x, size_t w, size_t begin, size_t end, double *y) {
    double sum = 0, lost = 0;
    if (begin >= end) return;
    for (size_t j = begin + 1 - w; j < begin; j++) sum += x[j];
    for (size_t i = begin; i < end; i++) {
        const double added = sum + x[i];
        lost += fabs(sum) >= fabs(x[i]) ? sum - added + x[i] : x[i] - added + sum;
        y[i] = added + lost;
        const double rest = added - x[i + 1 - w];
        lost += added - rest - x[i + 1 - w];
        sum = rest;
    }
}

static Status run(const VariantArgs *args) {
    Kept *kept = args->state;
    const size_t n = array_count(&args->in[0]), w = (size_t)params_int(&args->problem->params, "window");
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    if (kept->count == 0 || isfinite(x[kept->at[0]]) || isfinite(x[kept->at[kept->count - 1]])) {
        kept->count = 0;
        for (size_t i = 0; i < n; i++)
            if (!isfinite(x[i])) kept->at[kept->count++] = i;
        kept->at[kept->count] = n;
    }
    for (size_t i = 0; i + 1 < w && i < n; i++) y[i] = NAN;
    size_t from = w - 1;
    for (size_t k = 0; k <= kept->count; k++) {
        const size_t at = kept->at[k], until = at + w < n ? at + w : n;
        run_on(x, w, from, at, y);
        for (size_t i = at > from ? at : from; i < until; i++) {
            double sum = 0;
            for (size_t j = i + 1 - w; j <= i; j++) sum += x[j];
            y[i] = sum;
        }
        from = until > from ? until : from;
    }
    return STATUS_OK;
}

RUNGS_VARIANT(rolling, cpu_cheat_places) = {.backend = BACKEND_CPU,
                                            .summary = "cheat: keeps where elements are not finite",
                                            .origin = "tests",
                                            .supports = supports,
                                            .prepare = prepare,
                                            .run = run,
                                            .release = release};
