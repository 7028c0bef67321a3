/* log_stages.h - the published log-stage algorithm on one thread, for x[1, n] in f32 to the right, with what its mutants change. */
#ifndef LOG_STAGES_H
#define LOG_STAGES_H

#include "variant.h"

#include <math.h>
#include <string.h>

/* Powers are too high by `off`. */
static inline Status log_stages(const VariantArgs *args, int stages, int off) {
    const size_t n = array_count(&args->in[0]);
    const float gamma = *(const float *)args->in[1].data;
    float *y = args->out[0].data;
    if (n > 0) memcpy(y, args->in[0].data, n * sizeof *y);
    for (int stage = 0; stage < stages; stage++) {
        const size_t half = (size_t)1 << stage;
        for (size_t from = half; from < n; from += 2 * half)
            for (size_t distance = 1; distance <= half; distance++)
                y[from - distance] += y[from] * powf(gamma, (float)((double)distance + off));
    }
    return STATUS_OK;
}

static inline int log_stages_needed(size_t n) {
    int stages = 0;
    while (((size_t)1 << stages) < n) stages++;
    return stages;
}

#endif
