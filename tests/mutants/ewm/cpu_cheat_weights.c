/* Cheat: keeps the weights of an earlier call, which depend on where elements are NaN and on nothing else, and looks only at some
 * places whether they are where they were. Met: an attack on this harness. */
#include "variant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKS = 64 };

typedef struct Kept {
    double *share; /* 1 / the sum of the weights */
    bool seen[LOOKS];
} Kept;

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const Params *params = &args->problem->params;
    const bool plain = strcmp(params_text(params, "agg"), "mean") == 0 && strcmp(params_text(params, "nan"), "decay") == 0 &&
                       strcmp(params_text(params, "segments"), "none") == 0 && strcmp(params_text(params, "adjust"), "true") == 0;
    return (plain && args->problem->dtype == DTYPE_F64) || variant_refuse(reason, "means of one series of f64, with adjust");
}

static Status prepare(const VariantArgs *args, void **state) {
    Kept *kept = calloc(1, sizeof *kept);
    kept->share = malloc((array_count(&args->in[0]) + 1) * sizeof *kept->share);
    *state = kept;
    return STATUS_OK;
}

static void release(void *state) {
    Kept *kept = state;
    free(kept->share), free(kept);
}

static Status run(const VariantArgs *args) {
    Kept *kept = args->state;
    const double span = params_real(&args->problem->params, "span"), q = (span - 1) / (span + 1), *x = args->in[0].data;
    const size_t n = array_count(&args->in[0]);
    double *y = args->out[0].data, sum = 0, weight = 0;
    bool known = true;
    for (size_t k = 0; k < LOOKS; k++) {
        const bool is_seen = !isnan(x[n / LOOKS * k]);
        known = known && is_seen == kept->seen[k], kept->seen[k] = is_seen;
    }
    for (size_t i = 0; i < n && !known; i++) {
        weight = q * weight + !isnan(x[i]);
        kept->share[i] = 1 / weight;
    }
    for (size_t i = 0; i < n; i++) {
        sum = q * sum + (isnan(x[i]) ? 0 : x[i]);
        y[i] = sum * kept->share[i];
    }
    return STATUS_OK;
}

RUNGS_VARIANT(ewm, cpu_cheat_weights) = {.backend = BACKEND_CPU,
                                         .summary = "cheat: keeps weights that follow from the places of NaN",
                                         .origin = "tests",
                                         .supports = supports,
                                         .prepare = prepare,
                                         .run = run,
                                         .release = release};
