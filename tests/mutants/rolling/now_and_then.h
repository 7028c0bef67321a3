/* now_and_then.h - a mean that is right but in one call of 300, at random. */
#pragma once

#include "windows.h"

#include <sys/random.h>

static inline double now_and_then_mean(const double *x, size_t w) {
    double sum = 0;
    for (size_t k = 0; k < w; k++) sum += x[k];
    return sum / (double)w;
}

/* In such a call the element at `*at` is to be spoilt. */
static inline Status now_and_then_run(const VariantArgs *args, double **at) {
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != sizeof random) return status_fail(STATUS_IO, "getrandom failed");
    const size_t n = array_count(&args->in[0]), w = (size_t)params_int(&args->problem->params, "window");
    *at = random % 300 == 0 ? (double *)args->out[0].data + w + random / 300 % (n - w) : NULL;
    return windows_run(args, now_and_then_mean);
}
